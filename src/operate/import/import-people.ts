/** Imports members, who cannot act until an admin lets them in (`POST /users`). */
import { addressKey } from '../../base/address/email'
import { lockAccountOf } from '../../base/db/account-lock'
import { newId } from '../../base/db/columns'
import type { Scope } from '../../base/scope'
import { faultsOfRate } from '../../base/shapes/money'
import type { Kind, Line, Placed } from './kind'
import { ImportedUser } from './model'

/** No password has this hash. */
const NO_PASSWORD = '!'

export const USERS: Kind<ImportedUser> = {
  name: 'users',
  model: ImportedUser,
  most: 50,
  shape: (given) => given,
  judge: ({ hourly_rate, currency }) => faultsOfRate('/hourly_rate', hourly_rate, currency),
  match: matchUsers,
  states: membersOf,
  stateOf: ({ updated_at }) => updated_at,
  write: writeUsers,
}

async function matchUsers({ sql, organization_id }: Scope, lines: Line<ImportedUser>[]): Promise<Map<string, string>> {
  const keys = lines.map(({ input }) => addressKey(input.email))
  const found = await sql<{ email_key: string; user_id: string }[]>`
    select u.email_key, m.user_id from memberships m join users u on u.id = m.user_id
    where m.organization_id = ${organization_id} and u.email_key = any(${keys}::text[])`
  const ids = new Map(found.map(({ email_key, user_id }) => [email_key, user_id]))
  return new Map(
    lines.flatMap(({ keys, input }) => {
      const id = ids.get(addressKey(input.email))
      return id ? [[keys[0]!, id] as const] : []
    }),
  )
}

async function membersOf({ sql, organization_id }: Scope, ids: string[]): Promise<Map<string, string>> {
  const rows = await sql<{ id: string; state: string }[]>`
    select user_id as id, to_char(updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as state
    from memberships
    where organization_id = ${organization_id} and user_id = any(${ids}::uuid[]) and is_imported
      and removed_at is null
    order by user_id for no key update`
  return new Map(rows.map(({ id, state }) => [id, state]))
}

/** The account is the person's: an import makes one where there is none, and changes none. */
async function writeUsers(scope: Scope, lines: Placed<ImportedUser>[]): Promise<undefined> {
  for (const line of lines) {
    if (line.is_new) line.id = await addImported(scope, line.input, line)
    else await changeImported(scope, line)
  }
}

/** Adds a member who is inactive. @returns the id of the account */
export async function addImported(
  scope: Scope,
  { email, name, hourly_rate, currency, ...given }: ImportedUser,
  { created_ms, updated_at }: { created_ms: number; updated_at: string },
): Promise<string> {
  const { sql, organization_id } = scope
  const role = given.role ?? 'agent'
  const account = (await lockAccountOf(scope, email)) ?? { id: newId() }
  await sql`
    insert into users (id, email, email_key, name, password_hash)
    values (${account.id}, ${email}, ${addressKey(email)}, ${name}, ${NO_PASSWORD}) on conflict do nothing`
  await sql`
    insert into memberships
      (organization_id, user_id, role, hourly_rate, currency, active, is_imported, created_at, updated_at)
    values (${organization_id}, ${account.id}, ${role}, ${hourly_rate ?? null}, ${currency ?? null}, false, true,
      ${new Date(created_ms).toISOString()}, ${updated_at})
    on conflict do nothing`
  return account.id
}

async function changeImported({ sql, organization_id }: Scope, line: Placed<ImportedUser>): Promise<void> {
  const { hourly_rate = null, currency = null } = line.input
  const role = line.input.role ?? 'agent'
  await sql`
    update memberships set role = ${role}, hourly_rate = ${hourly_rate}, currency = ${currency},
      updated_at = ${line.updated_at}
    where organization_id = ${organization_id} and user_id = ${line.id} and is_imported`
}
