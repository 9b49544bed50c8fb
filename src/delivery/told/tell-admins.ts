/** Tells the admins of an organization by mail that something of it was switched off, in that transaction. */
import type { Scope } from '../../base/scope'

/** Tables whose rows remember when the admins were last told of them. */
const TABLES = { webhook: 'webhooks', sla_policy: 'sla_policies', rule: 'rules' } as const

/** Something that was switched off. `error` says why, without any data of events. A rule of retention has no id. */
export type SwitchedOff = { name: string; error: string } & (
  | { kind: keyof typeof TABLES; id: string }
  | { kind: 'retention_rule'; id: null }
)

/** Writes the letters. @returns false when there is no way to tell them */
type Teller = (scope: Scope, off: SwitchedOff) => Promise<boolean>

let teller: Teller | undefined

/** Sets who tells the admins: letters are of a wing above. */
export function tellAdminsBy(tell: Teller): void {
  teller = tell
}

/** Tells the admins, once a day for each thing. A rule of retention is a new one whenever an admin writes it. */
export async function tellAdmins(scope: Scope, off: SwitchedOff): Promise<void> {
  if (off.kind === 'retention_rule') {
    await teller?.(scope, off)
    return
  }
  const { sql, organization_id } = scope
  const table = TABLES[off.kind]
  const untold = await sql`
    select 1 from ${sql(table)}
    where organization_id = ${organization_id} and id = ${off.id}
      and (failure_told_at is null or failure_told_at < now() - interval '1 day')`
  if (untold.length === 0 || !(await teller?.(scope, off))) return
  await sql`
    update ${sql(table)} set failure_told_at = now() where organization_id = ${organization_id} and id = ${off.id}`
}
