/** Signs with a colour. The colour is never all that says it: a word stands there, or its shape and a title say it. */
import {
  ArrowDown,
  ArrowUp,
  CircleCheck,
  CircleDashed,
  CircleDot,
  CircleSlash,
  type IconNode,
  TriangleAlert,
} from 'lucide'
import type { ComponentChildren } from 'preact'
import type { Ticket } from '../../../desk/tickets/model'
import { t } from '../words/catalogue'
import { Icon } from './icons'

/** A coloured dot with its word. */
export function Dot({ kind, children }: { kind: string; children: ComponentChildren }) {
  return (
    <span class={`dot dot-${kind}`}>
      <i aria-hidden="true" />
      {children}
    </span>
  )
}

type Status = Ticket['status']
type Priority = Ticket['priority']

export const STATUS_ICONS: Record<Status, IconNode> = {
  open: CircleDot,
  pending: CircleDashed,
  resolved: CircleCheck,
  closed: CircleSlash,
}
export const PRIORITY_ICONS: Record<Priority, IconNode | undefined> = {
  low: ArrowDown,
  normal: undefined,
  high: ArrowUp,
  urgent: TriangleAlert,
}

/** The status of a ticket as a sign. */
export function StatusMark({ status }: { status: Status }) {
  return <Mark kind={status} icon={STATUS_ICONS[status]} title={t(`status.${status}`)} />
}

/** The priority of a ticket as a sign; nothing when it is normal. */
export function PriorityMark({ priority }: { priority: Priority }) {
  const icon = PRIORITY_ICONS[priority]
  return icon ? <Mark kind={priority} icon={icon} title={t(`priority.${priority}`)} /> : null
}

type MarkProps = { kind: string; icon: IconNode; title: string; size?: number; children?: ComponentChildren }

/** A sign, with its words for who does not see it. */
export function Mark({ kind, icon, title, size = 16, children }: MarkProps) {
  return (
    <span class={`mark mark-${kind}`} title={title}>
      <Icon of={icon} size={size} />
      <span class="unseen">{title} </span>
      {children}
    </span>
  )
}
