/** What operators are told of mail that was filed. The label is a word of ours, so that the figures stay few. */
import { Counter } from 'prom-client'
import { log } from '../log'

const filed = new Counter({
  name: 'deskwire_inbound_messages_total',
  help: 'Messages that were filed, by what became of them, as the mail ledger says',
  labelNames: ['outcome'],
})

/** A row of the mail ledger; nobody's address and no text. */
type Filed = {
  organization_id: string
  inbound_message_id: string
  outcome: string
  rule: string | null
  ticket_id: string | null
  message_id: string | null
}

/** To be called once the row is committed. */
export function noteFiled(row: Filed): void {
  filed.inc({ outcome: row.outcome })
  log.info(row, 'email filed')
}
