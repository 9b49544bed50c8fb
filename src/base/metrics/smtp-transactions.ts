/** Measures inbound SMTP transactions. */
import { Histogram } from 'prom-client'

const transactions = new Histogram({
  name: 'deskwire_smtp_transaction_duration_seconds',
  help: 'Duration of inbound SMTP transactions, by the class of the last reply',
  labelNames: ['reply'],
  buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
})

/** @param reply_code of the last reply of a transaction, such as 250 */
export function observeSmtp(reply_code: number, duration_ms: number): void {
  const known = reply_code >= 200 && reply_code < 600 ? `${Math.floor(reply_code / 100)}xx` : 'other'
  transactions.observe({ reply: known }, duration_ms / 1000)
}
