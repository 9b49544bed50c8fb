/** Beside the conversation: participants, time with the timer, and the timeline. */
import { Play, Square, X } from 'lucide'
import { useEffect, useState } from 'preact/hooks'
import type { TicketWithMessages } from '../../../desk/tickets/model'
import type { TicketTimeEntry, TimeEntry } from '../../../desk/time-entries/model'
import { lazy } from '../lazy'
import { usePainted } from '../painted'
import { Action, Button } from '../ui/buttons'
import { Field, Form } from '../ui/form-fields'
import { day, duration } from '../ui/measures'
import { tell } from '../ui/toasts'
import type { View } from '../view-types'
import { t } from '../words/catalogue'
import type { Included } from './after-event'
import { RatingPart } from './rated'
import { Timeline } from './timeline'
import { useTimer } from './timer'

/** The panel about the contact of the ticket. */
export const CustomerPanel = lazy(async () => (await import('../customers/customer-panel')).CustomerPanel)

type Props = View & { ticket: TicketWithMessages; included: Included; reload: () => Promise<void> }

/** The conversation is seen first. */
export function Side(props: Props) {
  const is_painted = usePainted(props.ticket.id)
  return (
    <aside class="side" aria-label={t('side.about')}>
      {is_painted && <Parts {...props} />}
    </aside>
  )
}

function Parts(props: Props) {
  return (
    <>
      <CustomerPanel {...props} />
      <RatingPart rating={props.ticket.rating} />
      <TimePart {...props} />
      <Participants {...props} />
      <Timeline {...props} />
    </>
  )
}

/** The timer of the person, on this ticket or another one. */
function TimerPart({ api, ticket, reload }: Props) {
  const timer = useTimer(api)
  const { running } = timer
  const stop = async () => {
    const entry = await timer.stop(running!)
    tell(t('side.logged_on', { time: duration(entry.duration_minutes), ticket: entry.ticket.code }))
    await reload()
  }
  if (!running) {
    return (
      <Action run={() => timer.start(ticket)} icon={Play} disabled={running === undefined}>
        {t('side.start_timer')}
      </Action>
    )
  }
  return (
    <>
      <span>
        <Clock since={running.started_at} /> {t('side.on_ticket', { ticket: running.ticket.code })}
      </span>
      <Action kind="main" icon={Square} run={stop}>
        {t('side.stop_timer')}
      </Action>
    </>
  )
}

function Clock({ since }: { since: string }) {
  const [now_ms, setNow] = useState(Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000)
    return () => clearInterval(timer)
  }, [])
  const seconds = Math.max(0, Math.floor((now_ms - Date.parse(since)) / 1000))
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60]
  return (
    <span class="clock" role="timer">
      {parts.map((part) => String(part).padStart(2, '0')).join(':')}
    </span>
  )
}

function TimePart(props: Props) {
  const { api, ticket, reload } = props
  const [is_open, setOpen] = useState(false)
  const total = ticket.time_entries.reduce((sum, { duration_minutes }) => sum + duration_minutes, 0)
  const log = async (form: FormData) => {
    await api.post<TimeEntry>(`/tickets/${ticket.id}/time-entries`, {
      duration_minutes: Number(form.get('minutes')),
      description: form.get('description') || null,
      billable: form.get('billable') === 'on',
    })
    setOpen(false)
    tell(t('side.time_logged'))
    await reload()
  }
  return (
    <section>
      <h2>
        {t('side.time')} {total > 0 && <small>{duration(total)}</small>}
      </h2>
      <ul>
        {ticket.time_entries.map((entry) => (
          <Entry key={entry.id} entry={entry} />
        ))}
      </ul>
      {is_open ? (
        <Form takes_focus submit={t('side.log_the_time')} send={log} onCancel={() => setOpen(false)}>
          <Field label={t('side.minutes')} name="minutes" type="number" min={1} max={525_600} required />
          <Field label={t('side.description')} name="description" maxLength={10_000} />
          <label class="check">
            <input type="checkbox" name="billable" defaultChecked /> {t('side.billable')}
          </label>
        </Form>
      ) : (
        <div class="buttons">
          <TimerPart {...props} />
          <Button text={t('side.log_time')} onClick={() => setOpen(true)} />
        </div>
      )}
    </section>
  )
}

function Entry({ entry }: { entry: TicketTimeEntry }) {
  const { duration_minutes, user, date, billable, description } = entry
  return (
    <li>
      {t('side.entry', { time: duration(duration_minutes), name: user.name, date: day(date) })}
      {!billable && `, ${t('side.not_billable')}`}
      {description && <small>{description}</small>}
    </li>
  )
}

function Participants({ api, ticket, included, reload }: Props) {
  const path = `/tickets/${ticket.id}/participants`
  const [is_open, setOpen] = useState(false)
  const add = async (email: string) => {
    await api.post(path, { email })
    setOpen(false)
    await reload()
  }
  return (
    <section>
      <h2>{t('side.participants')}</h2>
      <p class="hint">{t('side.participants_hint')}</p>
      <ul>
        {included.participants.map((one) => (
          <li key={one.id} class="line">
            <span>
              {one.name ?? one.email}
              {!one.confirmed && <small> {t('side.not_confirmed')}</small>}
            </span>
            <span class="grow" />
            {!one.confirmed && <Action run={() => add(one.email)}>{t('side.confirm')}</Action>}
            <Action
              icon={X}
              kind="bare"
              label={t('side.remove', { email: one.email })}
              run={async () => {
                await api.delete(`${path}/${one.id}`)
                await reload()
              }}
            />
          </li>
        ))}
      </ul>
      {is_open ? (
        <Form
          takes_focus
          submit={t('ticket.add')}
          send={(form) => add(String(form.get('email')))}
          onCancel={() => setOpen(false)}
        >
          <Field label={t('sign_in.email')} name="email" type="email" required />
        </Form>
      ) : (
        <Button text={t('side.add_participant')} onClick={() => setOpen(true)} />
      )}
    </section>
  )
}
