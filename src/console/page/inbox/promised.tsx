/** The promise of a ticket that ends next: when it is due, and whether that is soon or past. */
import { Timer, TimerOff } from 'lucide'
import type { Ticket } from '../../../desk/tickets/model'
import { Mark } from '../ui/marks'
import { Time, useClock } from '../ui/measures'
import { t } from '../words/catalogue'

type Shown = Pick<Ticket, 'sla' | 'created_at' | 'waiting_since'>

/** The share of a promise that counts as soon: its last fifth, as the clock runs. */
const LAST = 0.2

/** Tells how near the end of a promise is. */
function nearness({ sla, created_at, waiting_since }: Shown, now_ms = Date.now()): 'later' | 'soon' | 'breached' {
  const due_ms = Date.parse(sla?.due_at ?? '')
  if (sla?.breached || due_ms <= now_ms) return 'breached'
  const began_ms = Date.parse((sla?.metric === 'next_reply' && waiting_since) || created_at)
  return due_ms - now_ms <= (due_ms - began_ms) * LAST ? 'soon' : 'later'
}

/** A sign with the time that is left, or that has passed. Nothing without a promise that runs. */
export function DueMark({ ticket, size = 12 }: { ticket: Shown; size?: number }) {
  const { sla } = ticket
  const near = useClock(() => nearness(ticket), ticket)
  if (!sla?.due_at || !sla.metric) return null
  const promise = t(`policy.${sla.metric}_minutes`)
  const title = t(near === 'breached' ? 'due.breached' : 'due.due', { promise, policy: sla.policy.name })
  return (
    <Mark kind={`due mark-${near}`} icon={near === 'breached' ? TimerOff : Timer} size={size} title={title}>
      <Time at={sla.due_at} />
    </Mark>
  )
}
