/** Schedules: the hours in which the team works, by day of the week, without holidays. */
import type { Schedule } from '../../../desk/schedules/model'
import type { Body, Spec } from '../forms/spec'
import type { View } from '../view-types'
import { locales, t } from '../words/catalogue'
import { Managed } from './managed'

const DAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const
type Hours = Schedule['hours']

const LONG = new Intl.DateTimeFormat(locales(), { weekday: 'long', timeZone: 'UTC' })
const SHORT = new Intl.DateTimeFormat(locales(), { weekday: 'short', timeZone: 'UTC' })
/** The first of them is a Monday. */
const dayName = (place: number, format: Intl.DateTimeFormat) => format.format(Date.UTC(2024, 0, 1 + place))

const SPAN = /^(\d{1,2}:\d\d)\s*[-–]\s*(\d{1,2}:\d\d)$/

export function ScheduleSettings({ api }: View) {
  return (
    <Managed<Schedule>
      api={api}
      path="/schedules"
      caption={t('settings.schedules')}
      adding={t('schedule.add')}
      empty={t('schedule.none')}
      head={[t('field.name'), t('schedule.hours'), t('schedule.holidays')]}
      nameOf={({ name }) => name}
      cells={({ name, hours, holidays }) => (
        <>
          <td dir="auto">{name}</td>
          <td class="wide">{inWords(hours)}</td>
          <td class="number">{holidays.length}</td>
        </>
      )}
      specs={scheduleSpecs}
      startOf={(one) => ({ ...one, hours: one ? textsOf(one.hours) : WORKING_DAYS })}
      toBody={({ hours, ...body }) => (hours ? { ...body, hours: spansOf(hours as Body) } : body)}
      deleteMeans={() => t('schedule.delete_means')}
    />
  )
}

const WORKING_DAYS = Object.fromEntries(DAYS.slice(0, 5).map((day) => [day, '09:00–17:00']))

function scheduleSpecs(): Spec[] {
  return [
    { kind: 'text', name: 'name', label: t('field.name'), max: 255, required: true },
    ...DAYS.map((day, place): Spec => {
      return {
        kind: 'text',
        name: `hours.${day}`,
        label: dayName(place, LONG),
        ...(place === 0 && { hint: t('schedule.hours_hint') }),
      }
    }),
    { kind: 'lines', name: 'holidays', label: t('schedule.holidays'), hint: t('schedule.holidays_hint') },
  ]
}

function textOfDay(spans: string[][]): string {
  return spans.map(([begin, end]) => `${begin}–${end}`).join(', ')
}

function textsOf(hours: Hours): Body {
  return Object.fromEntries(DAYS.map((day) => [day, textOfDay(hours[day])]))
}

/** Reads what was typed for each day. What is no span is sent as it is: the service says so at its field. */
function spansOf(texts: Body): Body {
  const read = (text: string) => {
    const [, begin, end] = SPAN.exec(text) ?? []
    return begin && end ? [begin, end].map((time) => time.padStart(5, '0')) : text
  }
  const ofDay = (text: unknown) => (text ? String(text).split(',') : []).map((one) => read(one.trim()))
  return Object.fromEntries(DAYS.map((day) => [day, ofDay(texts[day])]))
}

/** The week in a line: successive days with the same hours stand together. */
function inWords(hours: Hours): string {
  const groups: { from: number; to: number; text: string }[] = []
  for (const [place, day] of DAYS.entries()) {
    const text = textOfDay(hours[day])
    const last = groups.at(-1)
    if (last?.text === text && last.to === place - 1) last.to = place
    else if (text) groups.push({ from: place, to: place, text })
  }
  const days = ({ from, to }: { from: number; to: number }) =>
    from === to ? dayName(from, SHORT) : `${dayName(from, SHORT)}–${dayName(to, SHORT)}`
  return groups.map((group) => `${days(group)} ${group.text}`).join('; ')
}
