/** Says in words what an invitation without words says to calendars. Pure. */
import { oneLine } from '../../base/mime/headers'
import { findParts, type Part } from '../../base/mime/parts'
import { calendarLines, calendarMethod, fieldOf, wordsOf } from './calendar'

/** Words for the methods of invitations (RFC 5546). */
const KINDS: Record<string, string> = { request: 'Invitation', add: 'Invitation', cancel: 'Cancelled' }

const DATE = /^(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)\d{0,2}(Z)?)?$/i
const DURATION = /^\+?P(?:(\d{1,4})W)?(?:(\d{1,4})D)?(?:T(?:(\d{1,4})H)?(?:(\d{1,4})M)?)?/i
const UNITS = ['weeks', 'days', 'h', 'min']
const DAY_MS = 86_400_000

type Moment = { date: string; time: string | null; zone: string | null }

/** Gives title, time, place, organizer and description of what a message invites to; null for other messages. */
export function invitationOf(root: Part): string | null {
  const kind = KINDS[calendarMethod(root) ?? '']
  const [calendar] = findParts(root, 'text/calendar')
  if (!calendar || kind === undefined) return null
  const event = eventOf(calendarLines(calendar))
  if (event.length === 0) return null
  const words = (name: string) => oneLine(wordsOf(fieldOf(event, name)?.value))
  const lines = [
    `${kind}: ${words('SUMMARY') || '(no title)'}`,
    ...labelled('Time', eventTime(event)),
    ...labelled('Place', words('LOCATION')),
    ...labelled('Organizer', organizerOf(event)),
  ]
  return [lines.join('\n'), wordsOf(fieldOf(event, 'DESCRIPTION')?.value)].filter(Boolean).join('\n\n')
}

/** The fields of the first event. Time zones have some of the same names. */
function eventOf(lines: string[]): string[] {
  const start = lines.findIndex((line) => /^BEGIN:VEVENT\s*$/i.test(line))
  if (start < 0) return []
  const rest = lines.slice(start + 1)
  // An alarm within the event has a description of its own.
  const end = rest.findIndex((line) => /^(?:END:VEVENT|BEGIN:\w+)\s*$/i.test(line))
  return end < 0 ? rest : rest.slice(0, end)
}

function labelled(label: string, value: string): string[] {
  return value === '' ? [] : [`${label}: ${value}`]
}

function organizerOf(event: string[]): string {
  const { params = '', value = '' } = fieldOf(event, 'ORGANIZER') ?? {}
  const [, quoted, bare = ''] = /;CN=(?:"([^"]*)"|([^;:"]*))/i.exec(params) ?? []
  const name = oneLine(wordsOf(quoted ?? bare))
  const address = oneLine(wordsOf(value.replace(/^mailto:/i, '')))
  if (name === '' || address === '' || name === address) return name || address
  return `${name} (${address})`
}

function eventTime(event: string[]): string {
  const start = momentOf(event, 'DTSTART')
  if (start === null) return ''
  const end = momentOf(event, 'DTEND')
  if (start.time === null) {
    const last = end === null ? start.date : dayBefore(end.date)
    return last > start.date ? `${start.date} to ${last}` : start.date
  }
  const from = `${start.date} ${start.time}`
  if (end?.time) {
    const until = end.date === start.date ? end.time : `${end.date} ${end.time}`
    if (end.zone === start.zone) return `${from} to ${until} (${start.zone})`
    return `${from} (${start.zone}) to ${until} (${end.zone})`
  }
  const [, ...counts] = DURATION.exec(fieldOf(event, 'DURATION')?.value.trim() ?? '') ?? []
  const length = counts.flatMap((count, index) =>
    count && Number(count) > 0 ? `${Number(count)} ${UNITS[index]}` : [],
  )
  return length.length === 0 ? `${from} (${start.zone})` : `${from} for ${length.join(' ')} (${start.zone})`
}

function momentOf(event: string[], name: string): Moment | null {
  const { params = '', value = '' } = fieldOf(event, name) ?? {}
  const [, year, month, day, hour, minute, utc] = DATE.exec(value.trim()) ?? []
  if (year === undefined) return null
  const date = `${year}-${month}-${day}`
  if (hour === undefined) return { date, time: null, zone: null }
  const zone = oneLine(/;TZID=(?:"([^"]*)"|([^;:"]*))/i.exec(params)?.slice(1).find(Boolean) ?? '')
  return { date, time: `${hour}:${minute}`, zone: utc ? 'UTC' : zone || 'local time' }
}

/** Events of whole days end on the day after the last one. */
function dayBefore(date: string): string {
  const time = Date.parse(date)
  return Number.isNaN(time) ? date : new Date(time - DAY_MS).toISOString().slice(0, 10)
}
