/** Counts and logs mail that was filed. The label is a word of the schema, so that the number of series stays small. */
import { Counter } from 'prom-client'
import { log } from '../log'
import type { InboundSteps } from './inbound-steps'

const filed = new Counter({
  name: 'deskwire_inbound_messages_total',
  help: 'Messages that were filed, by their outcome in the mail ledger',
  labelNames: ['outcome'],
})

/** A row of the mail ledger, without addresses and text: it goes into the log. */
type FiledMail = {
  organization_id: string
  inbound_message_id: string
  outcome: string
  rule: string | null
  ticket_id: string | null
  message_id: string | null
  /** Size of the original. */
  bytes: number
}

/** Counts a message, and logs its outcome and how long it took. To be called once the row is committed. */
export function noteFiled(row: FiledMail, steps: InboundSteps): void {
  filed.inc({ outcome: row.outcome })
  log.info({ ...row, ...steps.finish() }, 'email filed')
}
