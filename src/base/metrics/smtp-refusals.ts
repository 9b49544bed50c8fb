/**
 * Counts what the SMTP listener refuses. Labels are words of ours and reply codes, so the number of series stays small.
 */
import { Counter } from 'prom-client'

const refusals = new Counter({
  name: 'deskwire_smtp_refusals_total',
  help: 'Replies of 400 and more of the SMTP listener, by code, command and reason',
  labelNames: ['code', 'command', 'reason'],
})

/** @param note with a command and a reason of a fixed list */
export function countRefusal({ code, command, reason }: { code: number; command: string; reason: string }): void {
  refusals.inc({ code, command, reason })
}
