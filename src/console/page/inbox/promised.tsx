/** The promise of a ticket that ends next: when it is due, and whether that is soon or past. */
import { Timer, TimerOff } from 'lucide'
import type { Ticket } from '../../../desk/tickets/model'
import { Mark } from '../ui/marks'
import { Time, useClock } from '../ui/measures'
import { t } from '../words/catalogue'

type Shown = Pick<Ticket, 'sla'>

/** Tells how near the end of a promise is. */
function nearness({ sla }: Shown, now_ms = Date.now()): 'later' | 'soon' | 'breached' {
  const isPast = (moment: string | null = null) => moment !== null && Date.parse(moment) <= now_ms
  if (sla?.breached || isPast(sla?.due_at)) return 'breached'
  return isPast(sla?.soon_at) ? 'soon' : 'later'
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
