/** Looks at work that waits too long: in the outbox, and mail that is not filed. */
import type { Connection } from '../../base/db/transact'
import { topFigures } from '../../base/metrics/top'
import { outboxStats } from '../../delivery/outbox/operate'
import { type Finding, failure, firstOf, warning } from './finding'

/** A running service begins due work within seconds. */
const LATE_S = 60
/** After this time something stands still. */
const STUCK_S = 900
/** Mail is filed within seconds, unless its parts are slow to read. */
const LATE_MAIL_S = 600

/** Looks at the oldest due row of each kind, and at the oldest mail without an outcome. */
export async function checkWaitingWork(connection: Connection): Promise<Finding[]> {
  const late = (await outboxStats(connection)).filter(({ oldest_due_s }) => (oldest_due_s ?? 0) > LATE_S)
  const { waiting } = late.length > 0 ? await topFigures(connection) : { waiting: [] }
  const findings = late.map(({ kind, due, oldest_due_s }) => {
    const most = waiting.filter((one) => one.kind === kind)
    const names = most.map((one) => `${LANES[kind]} ${one.lane_id}: ${one.due}`)
    const found = oldest_due_s! > STUCK_S ? failure : warning
    return found(
      `Work of kind ${kind} is late (${due} due, the oldest for ${oldest_due_s} s): ${WORDS[kind]}. Most waits for ${firstOf(names)}`,
      'See if the service runs, and in its log if attempts fail by a fault of its own. If it works and is only behind, let another process of it run.',
      { kind, due, oldest_due_s, most },
    )
  })
  const [mail] = await connection.sql<{ n: number; oldest_s: number | null }[]>`
    select count(*) as n, round(extract(epoch from now() - min(received_at)))::float8 as oldest_s
    from inbound_messages where outcome = 'pending'`
  if ((mail!.oldest_s ?? 0) <= LATE_MAIL_S) return findings
  findings.push(
    warning(
      `Accepted emails wait to become messages (${mail!.n}, the oldest for ${mail!.oldest_s} s)`,
      'Look for "an email could not be parsed" and "an outbox job failed" in the log, and see if the store of originals works.',
      { pending: mail!.n, oldest_s: mail!.oldest_s },
    ),
  )
  return findings
}

const LANES = {
  webhook: 'webhook',
  email: 'mailbox',
  inbound: 'organization',
  letter: 'mailbox or organization',
  wake: 'organization',
  draft: 'organization',
  rule: 'organization',
  promise: 'organization',
} as const
const WORDS = {
  webhook: 'receivers learn late what has happened',
  email: 'answers leave late',
  inbound: 'customers wait for a ticket',
  letter: 'invitations and links for forgotten passwords leave late',
  wake: 'tickets sleep too long',
  draft: 'answers that are sent later leave late',
  rule: 'rules are applied late',
  promise: 'nobody hears in time that promises are due or breached',
} as const
