/**
 * Writes the audit log. A command calls `audit` in the transaction of what it does, so that neither is kept without the
 * other. Actor and origin come from the scope.
 */
import { newId } from '../db/columns'
import { insertRows } from '../db/insert-rows'
import type { AUDIT_ACTOR_TYPES } from '../db/schema'
import type { Fragment, Sql } from '../db/transact'
import type { AuditRow, Scope } from '../scope'
import type { AuditAction, AuditResource } from './actions'
import type { Changes } from './changes-of'

export type AuditEntry = {
  action: AuditAction
  /** The thing that it was done to; null for what concerns many things, such as an export. */
  resource: { type: AuditResource; id: string } | null
  /** The change, as `changesOf` gives it: by the names of the API, without any secret. */
  changes?: Changes | null
}

export type Auditor = { type: (typeof AUDIT_ACTOR_TYPES)[number] | 'contact'; id: string | null; name: string | null }

/** The actor of a command of the operator. */
export const OPERATOR: Auditor = { type: 'operator', id: null, name: 'Operator' }

/**
 * The parts of a scope that an entry needs. A command without a scope, such as one of the operator, gives these itself.
 */
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

/**
 * Adds entries. Without a transaction it is for one entry.
 * @param rest follows the rows: `on conflict do nothing`
 */
export async function insertAuditRows(sql: Sql, rows: AuditRow[], rest?: Fragment): Promise<void> {
  await insertRows(
    sql,
    'audit_log',
    rows.map(({ changes, ...row }) => ({ ...row, changes: changes ? JSON.stringify(changes) : null })),
    rest,
  )
}

/** Adds an entry about a change; none when nothing changed. */
export async function auditChanges(scope: AuditScope, entry: AuditEntry & { changes: Changes | null }): Promise<void> {
  if (entry.changes) await audit(scope, entry)
}
