import { addressKey, mailboxKey } from '../../base/address/email'
import type { Connection, Fragment, Sql } from '../../base/db/transact'
import { ApiError } from '../../base/errors'
import { formOfText } from '../../base/html/formats'
import type { Scope } from '../../base/scope'
import { decrypt, type StoredAt } from '../../base/secrets'
import { type Page, page } from '../../base/shapes/page'
import type { Paging } from '../../base/shapes/query'
import { isVerified, mayUseAddress } from '../../desk/messages/mailbox-address'
import { tokenSource } from '../outbound/access-token'
import type { MailboxSmtp } from '../outbound/settings'
import { dkimRecord } from './dkim'
import type { Mailbox } from './model'

/** Lists the mailboxes of the organization, newest first. */
export function listMailboxes(scope: Scope, query: Paging): Promise<Page<Mailbox>> {
  const { sql, organization_id } = scope
  return page(scope, query, {
    name: 'mailboxes',
    sort: { keys: [{ sql: sql`m.id`, field: 'id' }], direction: 'desc' },
    rows: ({ slice }) => selectMailboxes(scope, slice),
    count: () => sql<{ total: number }[]>`
      select count(*) as total from mailboxes where organization_id = ${organization_id}`,
  })
}

/** Reads a mailbox, without its secrets. @throws MAILBOX_NOT_FOUND */
export async function getMailbox(scope: Scope, id: string): Promise<Mailbox> {
  const [mailbox] = await selectMailboxes(scope, scope.sql`and m.id = ${id}`)
  if (!mailbox) throw new ApiError('MAILBOX_NOT_FOUND')
  return mailbox
}

/** Reads the server of a mailbox, with the password; null when it only receives. @throws MAILBOX_NOT_FOUND */
export function getMailboxSmtp(scope: Scope, id: string): Promise<MailboxSmtp | null> {
  return readSmtp(scope, id, scope.sql`true`)
}

/** As `getMailboxSmtp`, for letters: null also when they may not leave by the server. @throws MAILBOX_NOT_FOUND */
export function getLetterSmtp(scope: Scope, id: string): Promise<MailboxSmtp | null> {
  return readSmtp(scope, id, carriesLetters(scope.sql))
}

/**
 * SQL: letters may leave by the server of mailbox `m`, because a person who signed in has set it last, and no program
 * has changed the address since: bounces and automatic answers go there, and may quote the letter. The link in a letter
 * opens an account. A program that may only write mailboxes must not get it.
 */
export function carriesLetters(sql: Sql): Fragment {
  return sql`(m.smtp_host is not null and not m.is_smtp_by_key)`
}

async function readSmtp({ sql, organization_id }: Scope, id: string, is_good: Fragment): Promise<MailboxSmtp | null> {
  const [row] = await sql<(MailboxSmtp & { host: string | null; version: string | null })[]>`
    select case when ${is_good} then smtp_host end as host, smtp_port as port, smtp_security as security,
      smtp_username as username, smtp_password as password, (
        select version from mailbox_sign_ins s where s.organization_id = ${organization_id} and s.id = ${id}
      ) as version
    from mailboxes m where organization_id = ${organization_id} and id = ${id}`
  if (!row) throw new ApiError('MAILBOX_NOT_FOUND')
  const { version, ...smtp } = row
  if (smtp.host === null) return null
  const at = { column: 'mailboxes.smtp_password', organization_id, id } as const
  const tokens = tokenSource({ sql }, { organization_id, id, version })
  return { ...smtp, password: smtp.password ? decrypt(smtp.password, at) : null, ...(tokens && { tokens }) }
}

/** Reads the key with which a mailbox signs; null when it does not. @throws MAILBOX_NOT_FOUND */
export async function getMailboxDkim({ sql, organization_id }: Scope, id: string): Promise<StoredDkim | null> {
  const [row] = await sql<(StoredDkim & { domain: string | null })[]>`
    select dkim_domain as domain, dkim_selector as selector, dkim_private_key as private_key
    from mailboxes where organization_id = ${organization_id} and id = ${id}`
  if (!row) throw new ApiError('MAILBOX_NOT_FOUND')
  const at = { column: 'mailboxes.dkim_private_key', organization_id, id } as const
  return row.domain === null ? null : { ...row, private_key: decrypt(row.private_key, at) }
}

/** Tells whether a mailbox may receive and send: it is active and may use its address. */
export async function isMailboxUsable({ sql, organization_id }: Scope, id: string): Promise<boolean> {
  const found = await sql`
    select 1 from mailboxes m
    where m.organization_id = ${organization_id} and m.id = ${id} and m.active and ${mayUseAddress(sql)}`
  return found.length > 0
}

type AddressedMailbox = {
  organization_id: string
  id: string
  address: string
  is_active: boolean
  has_address: boolean
  may_use_address: boolean
}

/**
 * Finds the mailboxes with these addresses, however they are written, in their order. Of several with one address it is
 * the one that has it. It takes no mail unless it `is_active` and `may_use_address`.
 */
export async function findMailboxesByAddress(sql: Sql, addresses: string[]): Promise<(AddressedMailbox | null)[]> {
  const keys = addresses.map(mailboxKey)
  const rows = await sql<(AddressedMailbox & { address_key: string })[]>`
    select organization_id, id, address, active as is_active, has_address, ${mayUseAddress(sql)} as may_use_address,
      address_key
    from mailboxes m where m.address_key = any(${[...new Set(keys)]}::text[]) order by has_address`
  const found = new Map(rows.map(({ address_key, ...mailbox }) => [address_key, mailbox]))
  return keys.map((key) => found.get(key) ?? null)
}

/**
 * Finds who reads the mail of a postmaster that has no mailbox: the default mailbox of the organization that verified
 * the domain, else of the one with the oldest mailbox there. Without a domain it is that of the first organization, or
 * its mailbox of that name. Null for any other address, and for a domain without mailboxes.
 */
export async function findPostmaster(sql: Sql, address: string): Promise<AddressedMailbox | null> {
  const [named, domain] = /^postmaster(?:@(.+))?$/.exec(addressKey(address)) ?? []
  if (named === undefined) return null
  const isNamed = sql`(m.has_address and m.address_key like 'postmaster@%')`
  const [mailbox] = await sql<AddressedMailbox[]>`
    select m.organization_id, m.id, m.address, m.active as is_active, m.has_address,
      ${mayUseAddress(sql)} as may_use_address
    from mailboxes m ${
      domain === undefined
        ? sql`
          where m.organization_id = (select id from organizations order by id limit 1) and (is_default or ${isNamed})
          order by ${isNamed} desc, m.id limit 1`
        : sql`
          join (
            select organization_id from mailboxes
            where has_address and substring(address_key from '[^@]*$') = ${domain}
            order by id limit 1
          ) oldest on true
          left join domains d
            on d.organization_id = m.organization_id and d.domain = ${domain} and d.verified_at is not null
          where m.is_default and (d.id is not null or m.organization_id = oldest.organization_id)
          order by d.verified_at, m.id limit 1`
    }`
  return mailbox ?? null
}

/** Lists the domains at which organizations have mailboxes, or that they listed: in lower case, in Punycode. */
export async function listMailDomains({ sql }: Connection): Promise<Map<string, string | null>> {
  const rows = await sql<{ domain: string; owner: string | null }[]>`
    select domain, case when count(distinct owner) = 1 then min(owner) end as owner
    from (
      select substring(address_key from '[^@]*$') as domain, organization_id::text as owner from mailboxes
      union all select domain, null from domains
    ) as each group by domain`
  return new Map(rows.map(({ domain, owner }) => [domain, owner]))
}

type StoredDkim = { domain: string; selector: string; private_key: string }
type StoredMailbox = Omit<Mailbox, 'dkim' | 'sending'> & {
  dkim: StoredDkim | null
  sending_error: string | null
  failing_since: string | null
  queued: number
}

async function selectMailboxes({ sql, organization_id }: Scope, rest: Fragment): Promise<Mailbox[]> {
  const rows = await sql<StoredMailbox[]>`
    select m.id, address, name, from_name, active, is_default, plus_addressing,
      case when smtp_host is not null then json_build_object(
        'host', smtp_host, 'port', smtp_port, 'security', smtp_security, 'username', smtp_username,
        'auth', case when s.id is not null then json_build_object(
          'type', 'oauth2', 'grant', s."grant", 'token_url', s.token_url, 'client_id', s.client_id, 'scope', s.scope,
          'has_client_secret', s.client_secret is not null, 'has_refresh_token', s.refresh_token is not null
        ) end
      ) end as smtp,
      case when dkim_domain is not null then json_build_object(
        'domain', dkim_domain, 'selector', dkim_selector, 'private_key', dkim_private_key
      ) end as dkim,
      verp, signature, signature_format, quote, m.team_id, case when i.id is not null then json_build_object(
        'provider', i.provider, 'has_signing_key', i.signing_key is not null
      ) end as inlet, m.has_address and ${isVerified(sql)} as domain_verified,
      f.error as sending_error, f.failing_since, (
        select count(*) from outbox o
        where o.organization_id = ${organization_id} and o.lane_id = m.id and o.kind = 'email'
      ) as queued, m.created_at, updated_at
    from mailboxes m
    left join inlets i on i.organization_id = ${organization_id} and i.mailbox_id = m.id and i.ends_at is null
    left join lane_faults f on f.organization_id = ${organization_id} and f.lane_id = m.id
    left join mailbox_sign_ins s on s.organization_id = ${organization_id} and s.id = m.id
    where m.organization_id = ${organization_id} ${rest}`
  return rows.map(({ sending_error: error, failing_since, queued, created_at, updated_at, ...row }) => ({
    ...row,
    signature_format: formOfText(row.signature, row.signature_format),
    dkim: row.dkim && publicDkim(row.dkim, organization_id, row.id),
    sending: { ok: error === null, error, failing_since, queued },
    created_at,
    updated_at,
  }))
}

/** Gives the public part of a signature. A mailbox can still be read and changed when its key is lost. */
function publicDkim(
  { domain, selector, private_key }: StoredDkim,
  organization_id: string,
  id: string,
): NonNullable<Mailbox['dkim']> {
  const key = tryDecrypt(private_key, { column: 'mailboxes.dkim_private_key', organization_id, id })
  return { domain, selector, dns_record: key === undefined ? null : dkimRecord(domain, selector, key) }
}

function tryDecrypt(encrypted: string, at: StoredAt): string | undefined {
  try {
    return decrypt(encrypted, at)
  } catch {
    return undefined
  }
}
