/**
 * Keeps what was refused for good, so that an admin finds out why the mail of somebody never came. Only the owner of a
 * domain sees it: a mailbox at a domain of several organizations says nothing of who was meant.
 */
import { LRUCache } from 'lru-cache'
import { searchKeys } from '../../base/address/search-keys'
import { newId } from '../../base/db/columns'
import { insertRows } from '../../base/db/insert-rows'
import { sweep } from '../../base/db/sweep'
import type { Connection } from '../../base/db/transact'
import { gathered } from '../../base/flow/gather'
import { log, safeError } from '../../base/log'
import { inTransaction, SYSTEM } from '../../base/scope'
import { storable } from '../../base/shapes/fold'
import { firstIdAt } from '../../base/shapes/ids'
import type { RefusedMail, SmtpRefusalNote } from '../smtp/refusals'
import { domainOf, ownerOfDomain } from './own-domains'

const HOUR_MS = 3_600_000
const KEPT_MS = 30 * 24 * HOUR_MS
/** Rows of an organization in an hour. */
const MOST = 1000
const MOST_LENGTH = 400

/** Rows that this process took on for an organization within an hour: what comes beyond costs no statement. */
const taken_on = new LRUCache<string, { count: number }>({ max: 10_000, ttl: HOUR_MS })

type NewRow = {
  organization_id: string
  id: string
  recipient: string
  envelope_sender: string
  from_keys: string[]
  to_keys: string[]
  smtp_reply: string
  remote_address: string
  helo: string | null
  tls: boolean
}

/** Notes a refusal with a code of 5xx, for each recipient whose domain has one owner. Never rejects: mail goes on. */
export async function recordRefusal(connection: Connection, note: SmtpRefusalNote, mail: RefusedMail): Promise<void> {
  if (note.code < 500) return
  try {
    for (const recipient of mail.recipients) {
      const domain = domainOf(recipient)
      const organization_id = domain && (await ownerOfDomain(connection, domain))
      if (organization_id && takesOn(organization_id)) {
        await write({ connection, row: rowOf(organization_id, recipient, note, mail) })
      }
    }
  } catch (error) {
    log.debug({ error: safeError(error) }, 'a refusal could not be noted')
  }
}

function takesOn(organization_id: string): boolean {
  const taken = taken_on.get(organization_id) ?? { count: 0 }
  if (taken.count === 0) taken_on.set(organization_id, taken)
  taken.count += 1
  return taken.count <= MOST
}

function rowOf(
  organization_id: string,
  recipient: string,
  { remote_address, helo, tls }: SmtpRefusalNote,
  { sender, reply }: RefusedMail,
): NewRow {
  const text = (value: string) => storable(value, MOST_LENGTH)
  return {
    organization_id,
    id: newId(),
    recipient: text(recipient),
    envelope_sender: text(sender),
    from_keys: searchKeys([text(sender)]),
    to_keys: searchKeys([text(recipient)]),
    smtp_reply: text(reply),
    remote_address,
    helo: helo === null ? null : text(helo),
    tls,
  }
}

/** Rows of an organization that come together share a transaction, which counts those of all processes. */
const write = gathered(
  async (given: { connection: Connection; row: NewRow }[]) => {
    const { connection, row } = given[0]!
    const { organization_id } = row
    await inTransaction({ ...connection, organization_id, actor: SYSTEM }, async ({ sql }) => {
      const [kept] = await sql<{ count: number }[]>`
        select count(*)::integer as count from refused_messages
        where organization_id = ${organization_id} and id >= ${firstIdAt(Date.now() - HOUR_MS)}`
      const rows = given.slice(0, Math.max(MOST - kept!.count, 0)).map((one) => one.row)
      await insertRows(sql, 'refused_messages', rows)
    })
    return given.map(() => undefined)
  },
  { key: ({ row }) => row.organization_id, most_runs: 1 },
)

/** Removes rows that are older than 30 days. For a background job, in any number of processes. @returns how many */
export function removeOldRefusals(connection: Connection): Promise<number> {
  const is_old = connection.sql`id < ${firstIdAt(Date.now() - KEPT_MS)}`
  return sweep(connection, { table: 'refused_messages', is_old, order: 'id' })
}
