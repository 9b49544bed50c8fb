/** Lets a ticket sleep until a moment, and wakes it up. */
import { AlarmClock, AlarmClockOff, CalendarClock } from 'lucide'
import { useState } from 'preact/hooks'
import type { Ticket } from '../../../desk/tickets/model'
import { Dialog } from '../ui/dialogs'
import { Field, Form } from '../ui/form-fields'
import { Icon } from '../ui/icons'
import { moment } from '../ui/measures'
import { Menu } from '../ui/menus'
import { tell } from '../ui/toasts'
import type { Change } from '../view-types'
import { t } from '../words/catalogue'

const HOUR_MS = 3_600_000
const MORNING = 9

/** Nine o'clock after some days. */
function morningIn(days: number): Date {
  const now = new Date()
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() + days, MORNING)
}

/** A menu of moments, with a key; nothing for a ticket that is done. */
export function Snooze({ ticket, change }: { ticket: Ticket; change: Change }) {
  const [is_choosing, setChoosing] = useState(false)
  const { status, snoozed_until: until } = ticket
  if (status === 'resolved' || status === 'closed') return null
  const sleep = async (date: Date) => {
    const snoozed_until = date.toISOString()
    const is_done = await change({ snoozed_until })
    if (is_done) tell(t('ticket.snoozed_until', { until: moment(snoozed_until) }))
    return is_done
  }
  const monday = (8 - new Date().getDay()) % 7 || 7
  return (
    <>
      <Menu
        label={t('ticket.snooze')}
        button={
          <>
            <Icon of={AlarmClock} />
            {until && t('ticket.snoozed_until', { until: moment(until) })}
          </>
        }
        act={{ text: t('ticket.snooze'), icon: AlarmClock, keys: 'h', group: t('ticket.ticket') }}
        items={[
          ...(until
            ? [{ text: t('ticket.wake'), icon: AlarmClockOff, run: () => change({ snoozed_until: null }) }]
            : []),
          { text: t('ticket.snooze_hours'), run: () => sleep(new Date(Date.now() + 3 * HOUR_MS)) },
          { text: t('ticket.snooze_tomorrow'), run: () => sleep(morningIn(1)) },
          { text: t('ticket.snooze_monday'), run: () => sleep(morningIn(monday)) },
          { text: t('ticket.snooze_date'), icon: CalendarClock, run: () => setChoosing(true) },
        ]}
      />
      {is_choosing && (
        <Dialog title={t('ticket.snooze')} onClose={() => setChoosing(false)}>
          <Form
            submit={t('ticket.snooze')}
            onCancel={() => setChoosing(false)}
            send={async (form) => {
              if (await sleep(new Date(String(form.get('until'))))) setChoosing(false)
            }}
          >
            <Field label={t('ticket.snooze_at')} name="until" type="datetime-local" required />
          </Form>
        </Dialog>
      )}
    </>
  )
}
