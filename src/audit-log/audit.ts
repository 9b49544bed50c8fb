/**
 * Writes the audit log. A command calls `audit` in the transaction of what it does, so that neither is kept without the
 * other. Actor and origin come from the scope.
 */
import { newId } from '../db/columns'
import { insertRows } from '../db/insert-rows'
import type { AUDIT_ACTOR_TYPES } from '../db/schema'
import type { Connection, Sql } from '../db/transact'
import { type AuditRow, type Origin, type Scope, together } from '../scope'
import type { AuditAction, AuditResource } from './actions'
import type { Changes } from './changes-of'

export type AuditEntry = {
  action: AuditAction
  /** The thing that it was done to; null for what concerns many things, such as an export. */
  resource: { type: AuditResource; id: string } | null
  /** What changed, as `changesOf` gives it: by the names of the API, and never with a secret in it. */
  changes?: Changes | null
}

type Auditor = { type: (typeof AUDIT_ACTOR_TYPES)[number] | 'contact'; id: string | null; name: string | null }

/** The actor of a command of the operator. */
export const OPERATOR: Auditor = { type: 'operator', id: null, name: 'Operator' }

/** What an entry needs of a scope. A command without a scope, such as one of the operator, gives these by themselves. */
type AuditScope = Pick<Scope, 'sql' | 'organization_id' | 'origin'> & { actor: Auditor }

/** Adds one entry to the log of the scope's organization. */
export async function audit(scope: AuditScope, entry: AuditEntry): Promise<void> {
  await insertAuditRows(scope.sql, [auditRow(scope, entry)])
}

/** Makes the row of an entry, with an id of now. */
export function auditRow(
  { organization_id, actor, origin }: Omit<AuditScope, 'sql'>,
  { action, resource, changes }: AuditEntry,
): AuditRow {
  return {
    organization_id,
    id: newId(),
    actor_type: actor.type,
    actor_id: actor.id,
    actor_name: actor.name,
    action,
    resource_type: resource?.type,
    resource_id: resource?.id,
    changes,
    ...origin,
  }
}

/** Adds entries. Without a transaction it is for one entry. */
export async function insertAuditRows(sql: Sql, rows: AuditRow[]): Promise<void> {
  await insertRows(
    sql,
    'audit_log',
    rows.map(({ changes, ...row }) => ({ ...row, changes: changes ? JSON.stringify(changes) : null })),
  )
}

/** Adds an entry about a change; none when nothing changed. */
export async function auditChanges(scope: AuditScope, entry: AuditEntry & { changes: Changes | null }): Promise<void> {
  if (entry.changes) await audit(scope, entry)
}

/**
 * Adds one entry about an account to the log of every organization that it is a member of, inactive ones too.
 * @param actor missing: the account itself
 */
export async function auditAccount(
  { sql, origin, actor }: Pick<Connection, 'sql'> & { origin?: Origin; actor?: Auditor },
  user_id: string,
  entry: AuditEntry,
): Promise<void> {
  // It is one entry: its id is the same in all of them.
  const id = newId()
  const members = await sql<{ organization_id: string; name: string }[]>`
    select m.organization_id, u.name from memberships m join users u on u.id = m.user_id
    where m.user_id = ${user_id} and m.removed_at is null`
  const rows = members.map(({ organization_id, name }) => {
    return { ...auditRow({ organization_id, actor: actor ?? { type: 'user', id: user_id, name }, origin }, entry), id }
  })
  await together(rows.map((row) => insertAuditRows(sql, [row])))
}
