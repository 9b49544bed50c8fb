/** Lets a ticket sleep until a moment, and wakes it up. */
import { AlarmClock, AlarmClockOff } from 'lucide'
import type { Ticket } from '../../../desk/tickets/model'
import type { Api } from '../api'
import { Icon } from '../ui/icons'
import { moment } from '../ui/measures'
import { tell } from '../ui/toasts'
import type { Change } from '../view-types'
import { t } from '../words/catalogue'
import { Moments } from './moments'

/** A menu of moments, with a key; nothing for a ticket that is done. */
export function Snooze({ api, ticket, change }: { api: Api; ticket: Ticket; change: Change }) {
  const { status, snoozed_until: until } = ticket
  if (status === 'resolved' || status === 'closed') return null
  const sleep = async (date: Date) => {
    const snoozed_until = date.toISOString()
    const is_done = await change({ snoozed_until })
    if (is_done) tell(t('ticket.snoozed_until', { until: moment(snoozed_until) }))
    return is_done
  }
  const wake = { text: t('ticket.wake'), icon: AlarmClockOff, run: () => change({ snoozed_until: null }) }
  return (
    <Moments
      api={api}
      label={t('ticket.snooze')}
      deed={t('ticket.snooze')}
      field={t('ticket.snooze_at')}
      button={
        <>
          <Icon of={AlarmClock} />
          {until && t('ticket.snoozed_until', { until: moment(until) })}
        </>
      }
      act={{ text: t('ticket.snooze'), icon: AlarmClock, keys: 'h', group: t('ticket.ticket') }}
      first={until ? [wake] : []}
      choose={sleep}
    />
  )
}
