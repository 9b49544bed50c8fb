/**
 * Entries of the audit log about an account. The log of each of its organizations gets them, and on a cluster the
 * machine of one may be away while the account is used in the others. So an entry is noted in the transaction of what
 * was done, on the coordinator alone, and moves to the log of each organization in a transaction of that one.
 */
import { type AuditEntry, type Auditor, auditRow, insertAuditRows } from '../../base/audit/audit'
import { inEach } from '../../base/db/all-organizations'
import { newId } from '../../base/db/columns'
import { insertRows } from '../../base/db/insert-rows'
import { type InOrganization, sweep } from '../../base/db/sweep'
import { type Connection, type Fragment, transact } from '../../base/db/transact'
import { log, safeError } from '../../base/log'
import type { AuditRow, Origin } from '../../base/scope'

/** Entries of one transaction. */
const BATCH = 500

/**
 * Notes one entry about an account for every organization that it is a member of, inactive ones too, in the caller's
 * transaction. Behind its commit the caller calls `writeAccountEntries`. An import alone tells an organization nothing
 * of an account: the person has not joined it.
 * @param actor missing: the account itself
 * @param only the organization of a session that acts in one alone: its identity provider writes in no other's log
 */
export async function auditAccount(
  { sql, origin, actor }: Pick<Connection, 'sql'> & { origin?: Origin; actor?: Auditor },
  user_id: string,
  entry: AuditEntry,
  only: string | null = null,
): Promise<void> {
  // It is one entry: its id is the same in all of them.
  const id = newId()
  const members = await sql<{ organization_id: string; name: string }[]>`
    select m.organization_id, u.name from memberships m join users u on u.id = m.user_id
    where m.user_id = ${user_id} and m.removed_at is null and not m.is_imported
      and m.organization_id = coalesce(${only}, m.organization_id)`
  const rows = members.map(({ organization_id, name }) => {
    const by = actor ?? { type: 'user' as const, id: user_id, name }
    const row = { ...auditRow({ organization_id, actor: by, origin }, entry), id }
    return { organization_id, id, user_id, entry: JSON.stringify(row) }
  })
  await insertRows(sql, 'account_entries', rows)
}

/**
 * Moves the noted entries of an account to the logs of its organizations. Those of a machine that is away, and all when
 * it fails, wait for `writeNotedEntries`.
 */
export async function writeAccountEntries(connection: Connection, user_id: string): Promise<void> {
  const { sql } = connection
  try {
    const found = await sql<{ organization_id: string }[]>`
      select distinct organization_id from account_entries where user_id = ${user_id}`
    const ids = found.map(({ organization_id }) => organization_id)
    await inEach(ids, (organization_id) =>
      transact(connection, (inner) => writeBatch({ ...inner, organization_id }, sql`and user_id = ${user_id}`)),
    )
  } catch (error) {
    log.warn({ error: safeError(error) }, 'entries about an account are not in the audit log yet')
  }
}

/** Moves the noted entries of all accounts that are left, for a background job. */
export async function writeNotedEntries(connection: Connection): Promise<void> {
  const noted = { table: 'account_entries', is_old: connection.sql`true`, size: BATCH }
  await sweep(connection, noted, (batch) => writeBatch(batch))
}

/** On a cluster a crash may keep the written entries and the notes too, so the same entry may come again. */
async function writeBatch({ sql, organization_id }: InOrganization, more: Fragment = sql``): Promise<number> {
  const taken = await sql<{ entry: AuditRow }[]>`
    with noted as (
      select id from account_entries
      where organization_id = ${organization_id} ${more}
      order by id limit ${BATCH} for update skip locked
    )
    delete from account_entries e using noted n
    where e.organization_id = ${organization_id} and e.id = n.id
    returning e.entry`
  const rows = taken.map(({ entry }) => entry)
  await insertAuditRows(sql, rows, sql`on conflict do nothing`)
  return taken.length
}
