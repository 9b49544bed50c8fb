/**
 * Decides which mailbox has an address. Several organizations may have a mailbox with the same address, because nobody
 * proves anything when a mailbox is made; one of them has the address (`has_address`), receives its mail and sends as
 * it.
 *
 * The addresses of a verified domain belong to the organizations that verified it, and to no others, even where they
 * have no mailbox. Of several mailboxes the one that has the address already comes first, then the oldest. An address
 * that was given up stays its organization's for 90 days: others cannot take it, and read mail that is meant for
 * somebody else. An organization that verified the domain can, unless the other one has verified it too.
 *
 * Callers hold the lock of `lockMailboxes`, because addresses are shared by all organizations.
 */
import type { Connection, Fragment, Sql } from '../../base/db/transact'
import type { Scope } from '../../base/scope'
import { isVerified } from '../../desk/messages/mailbox-address'

const KEPT_DAYS = 90

/**
 * Decides anew who has the addresses: after a mailbox was made, changed or deleted, or a domain was verified.
 * @returns the organizations for which something changed
 */
export async function settleAddresses({ sql }: Pick<Connection, 'sql'>, address_keys: string[]): Promise<string[]> {
  type Changed = { organization_id: string }
  // The index allows one mailbox to have an address: the former one gives it up first.
  const lost = await sql<Changed[]>`
    with ranked as materialized (${rank(sql, address_keys)})
    update mailboxes m set has_address = false from ranked r
    where m.organization_id = r.organization_id and m.id = r.id and m.has_address and not r.is_first
    returning m.organization_id`
  const got = await sql<Changed[]>`
    with ranked as materialized (${rank(sql, address_keys)})
    update mailboxes m set has_address = true from ranked r
    where m.organization_id = r.organization_id and m.id = r.id and not m.has_address and r.is_first
    returning m.organization_id`
  return [...new Set([...lost, ...got].map(({ organization_id }) => organization_id))]
}

/**
 * Keeps the address of a mailbox that is deleted or gets another address for the organization, if it had the address.
 */
export async function keepAddress({ sql, organization_id }: ClaimScope, mailbox_id: string): Promise<void> {
  await sql`
    insert into released_addresses (organization_id, address_key)
    select organization_id, address_key from mailboxes
    where organization_id = ${organization_id} and id = ${mailbox_id} and has_address
    on conflict (organization_id, address_key) do update set released_at = excluded.released_at`
}

/** Forgets addresses that were given up long ago. */
export async function forgetReleasedAddresses({ sql }: Connection): Promise<void> {
  await sql`delete from released_addresses where released_at < now() - ${KEPT_DAYS} * interval '1 day'`
}

type ClaimScope = Pick<Scope, 'sql' | 'organization_id'>

/** SQL: the mailboxes with the addresses; `is_first` for the one that is to have its address. */
function rank(sql: Sql, address_keys: string[]): Fragment {
  return sql`
    select m.organization_id, m.id, is_entitled and row_number() over (
      partition by m.address_key order by is_entitled desc, m.has_address desc, m.id
    ) = 1 as is_first
    from mailboxes m
    cross join lateral (select ${isVerified(sql)} as is_verified) verified
    cross join lateral (
      select (is_verified or not exists (
        select 1 from domains d
        where d.domain = substring(m.address_key from '[^@]*$') and d.verified_at is not null
      )) and (m.has_address or not exists (
        select 1 from released_addresses x
        where x.address_key = m.address_key and x.organization_id <> m.organization_id
          and x.released_at > now() - ${KEPT_DAYS} * interval '1 day'
          and (not is_verified or exists (
            select 1 from domains d
            where d.organization_id = x.organization_id and d.domain = substring(x.address_key from '[^@]*$')
              and d.verified_at is not null
          ))
      )) as is_entitled
    ) entitled
    where m.address_key = any(${address_keys})`
}
