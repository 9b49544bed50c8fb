/**
 * Gives the keys of addresses with an international domain to rows of older releases. The migration `address_keys` has
 * folded the letters A to Z; Punycode takes the tables of UTS 46, which PostgreSQL does not have.
 */
import type postgres from 'postgres'
import { addressKey } from '../address/email'
import { log } from '../log'

/** Keys that are changed by one transaction. Each reads its table once. */
const BATCH = 10_000

type Given = { former: string; key: string }

/** A table with keys; `same` are the columns within which a key is unique. */
type KeyedTable = {
  name: string
  key: string
  same: string[]
  first: (sql: postgres.ISql) => postgres.PendingQuery<postgres.Row[]>
}

/**
 * `first` says which of two rows with the same address in two spellings gets the key. The other stays as it is, with a
 * key that no address has (the key, a space, its id): it is shown and listed, but its address does not find it.
 * - A mailbox that receives comes first, and its Unicode spelling, because mail went to that one.
 * - An account that somebody can use comes first, and a participant who gets the answers.
 */
const TABLES: KeyedTable[] = [
  { name: 'mailboxes', key: 'address_key', same: [], first: (sql) => sql`active desc, is_unicode desc, t.id` },
  {
    name: 'users',
    key: 'email_key',
    same: [],
    first: (sql) => sql`
      exists (select from memberships m where m.user_id = t.id and m.active and m.removed_at is null) desc, t.id`,
  },
  { name: 'contacts', key: 'email_key', same: ['organization_id'], first: (sql) => sql`t.id` },
  {
    name: 'participants',
    key: 'email_key',
    same: ['organization_id', 'ticket_id'],
    first: (sql) => sql`confirmed desc, t.id`,
  },
]

/** Finishes the keys, once: the migration leaves an empty table as its mark. Breaking off loses nothing. */
export async function finishAddressKeys(sql: postgres.Sql): Promise<void> {
  const [mark] = await sql`select to_regclass('address_keys_unfinished') as name`
  if (!mark?.name) return
  for (const table of TABLES) {
    for (const given of await unfinishedOf(sql, table)) {
      const ids = await sql.begin(async (inner) => {
        const apart = await setApart(inner, table, given)
        await setKeys(inner, table, given)
        return apart
      })
      if (ids.length > 0)
        log.warn({ table: table.name, ids }, 'these rows have the address of another in another spelling')
    }
  }
  // A message may have one address twice.
  const recipients = { name: 'message_recipients', key: 'email_key' }
  for (const given of await unfinishedOf(sql, recipients)) await setKeys(sql, recipients, given)
  await sql`drop table if exists address_keys_unfinished`
}

/** The keys with an international domain that is not yet Punycode, in batches. */
async function unfinishedOf(sql: postgres.Sql, { name, key }: Pick<KeyedTable, 'name' | 'key'>): Promise<Given[][]> {
  const rows = await sql<{ former: string }[]>`
    select distinct ${sql(key)} as former from ${sql(name)}
    where octet_length(substring(${sql(key)} from '[^@]*$')) > length(substring(${sql(key)} from '[^@]*$'))`
  const given = rows
    .map(({ former }) => ({ former, key: addressKey(former) }))
    .filter(({ former, key }) => former !== key)
  return Array.from({ length: Math.ceil(given.length / BATCH) }, (_, index) =>
    given.slice(index * BATCH, (index + 1) * BATCH),
  )
}

/** Marks the keys of all rows but the first one of each address. @returns ids of the others */
async function setApart(sql: postgres.ISql, { name, key, same, first }: KeyedTable, given: Given[]) {
  const partition = [...same, 'new_key'].map((column) => sql`${sql(column)}`)
  const rows = await sql<{ id: string }[]>`
    with given as materialized (select * from json_to_recordset(${JSON.stringify(given)}::text::json) as g (former text, key text)),
    seen as (select former as seen, key as new_key, true as is_unicode from given
      union select key, key, false from given),
    ranked as (
      select t.id, new_key, row_number() over (
        partition by ${partition.flatMap((part, index) => (index === 0 ? [part] : [sql`, `, part]))} order by ${first(sql)}
      ) as place
      from ${sql(name)} t join seen on t.${sql(key)} = seen.seen
    )
    update ${sql(name)} t set ${sql(key)} = new_key || ' ' || t.id
    from ranked where ranked.id = t.id and place > 1
    returning t.id`
  return rows.map(({ id }) => id)
}

async function setKeys(sql: postgres.ISql, { name, key }: Pick<KeyedTable, 'name' | 'key'>, given: Given[]) {
  await sql`
    with given as materialized (select * from json_to_recordset(${JSON.stringify(given)}::text::json) as g (former text, key text))
    update ${sql(name)} t set ${sql(key)} = given.key from given where t.${sql(key)} = given.former`
}
