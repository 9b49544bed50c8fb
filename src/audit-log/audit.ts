/**
 * Writes the audit log. A command calls `audit` in the transaction of what it does, so that neither is kept without the
 * other. Actor and origin come from the scope.
 */
import { newId } from '../db/columns'
import type { AUDIT_ACTOR_TYPES } from '../db/schema'
import type { Connection, Fragment, Sql } from '../db/transact'
import type { AuditRow, Origin, Scope } from '../scope'
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

/**
 * The statement of `audit`, for commands that write more in the same statement.
 * @param rows may have a `ticket_id` by which `joined` limits them
 * @param joined limits the rows `e`: `join t on t.id = e.ticket_id`
 */
export function insertAuditRows(sql: Sql, rows: (AuditRow & { ticket_id?: string })[], joined = sql``): Fragment {
  return sql`
    insert into audit_log (organization_id, id, actor_type, actor_id, actor_name, action, resource_type, resource_id,
      changes, ip, user_agent, request_id)
    select e.organization_id, e.id, e.actor_type, e.actor_id, e.actor_name, e.action, e.resource_type, e.resource_id,
      e.changes, e.ip, e.user_agent, e.request_id
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as e (organization_id uuid, id uuid, actor_type text,
      actor_id uuid, actor_name text, action text, resource_type text, resource_id uuid, changes jsonb, ip text,
      user_agent text, request_id text, ticket_id uuid
    ) ${joined}`
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
  { action, resource, changes }: AuditEntry,
): Promise<void> {
  await sql`
    insert into audit_log (organization_id, id, actor_type, actor_id, actor_name, action, resource_type, resource_id,
      changes, ip, user_agent, request_id)
    select m.organization_id, ${newId()}, ${actor?.type ?? 'user'}, ${actor ? actor.id : user_id},
      ${actor ? actor.name : sql`u.name`}, ${action}, ${resource?.type ?? null}, ${resource?.id ?? null}::uuid,
      ${changes ? JSON.stringify(changes) : null}::text::jsonb,
      ${origin?.ip ?? null}, ${origin?.user_agent ?? null}, ${origin?.request_id ?? null}
    from memberships m join users u on u.id = m.user_id
    where m.user_id = ${user_id} and m.removed_at is null`
}
