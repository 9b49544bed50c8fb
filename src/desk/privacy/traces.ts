/** The traces of a person: the ids of rows, and the address in any text. */
import { domainToUnicode } from 'node:url'
import { addressKey, ERASED } from '../../base/address/email'
import { ZERO_ID } from '../../base/db/columns'
import type { Fragment } from '../../base/db/transact'
import { ApiError } from '../../base/errors'
import type { Scope } from '../../base/scope'
import { requirePath } from '../../http/request/resources'

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g

/** Rows of one statement. */
const STEP = 2000

export type Traces = {
  contact_id: string
  /** The contact, and those that were merged into it. */
  contact_ids: string[]
  email_keys: string[]
  /** The tickets of the contact, hidden ones too, oldest first. */
  tickets: string[]
  /** The ids of all that is the person's: contacts, tickets, and what belongs to these. */
  ids: string[]
  /** Patterns for `ilike`: each spelling of an address matches one, and few others do. */
  address_like: string[]
  /** Tells if an address is one of the person's, however it is written. */
  isAddress(address: string | null): boolean
  /** Tells if a text has an address, or the id of the contact, of its tickets or of what belongs to these. */
  isIn(text: string): boolean
}

/** @throws CONTACT_NOT_FOUND */
export async function tracesOf(scope: Scope, contact_id: string): Promise<Traces> {
  const { sql, organization_id } = scope
  const [contact] = await sql<{ id: string; email_keys: string[]; merged: string[] }[]>`
    select c.id, array(
      select a.email_key from contact_addresses a where a.organization_id = ${organization_id} and a.contact_id = c.id
    ) as email_keys, array(
      select m.id from merged_contacts m where m.organization_id = ${organization_id} and m.contact_id = c.id
    ) as merged
    from contacts c where c.organization_id = ${organization_id} and c.id = ${contact_id}`
  if (!contact) {
    // For one that was merged this says which contact it is now.
    await requirePath(scope, { contact_id })
    throw new ApiError('CONTACT_NOT_FOUND')
  }
  const tickets = await ticketsOf(scope, contact.id)
  const { email_keys } = contact
  const contact_ids = [contact.id, ...contact.merged]
  const ids = new Set([...contact_ids, ...tickets])
  for (let start = 0; start < tickets.length; start += STEP) {
    for (const id of await idsOf(scope, tickets.slice(start, start + STEP))) ids.add(id)
  }
  const spellings = email_keys.map(oneSpelling)
  const isNamed = isNamedIn(ids)
  return {
    contact_id: contact.id,
    contact_ids,
    email_keys,
    tickets,
    ids: [...ids],
    address_like: email_keys.map(patternOf),
    isAddress: (address) => address !== null && email_keys.includes(addressKey(withoutQuotes(address.trim()))),
    isIn(text) {
      const one = oneSpelling(text)
      return spellings.some((spelling) => one.includes(spelling)) || isNamed(text)
    },
  }
}

/** Makes a function that tells if a text has one of the ids. */
export function isNamedIn(ids: Set<string>): (text: string) => boolean {
  return (text) => (text.toLowerCase().match(UUID) ?? []).some((id) => ids.has(id))
}

/**
 * Writes the addresses of a text in one way: lower case, domains in Unicode (UTS 46), local parts without quotes,
 * whether the text is JSON or not.
 */
function oneSpelling(text: string): string {
  return withoutQuotes(text)
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll('。', '.')
    .replace(/xn--[a-z0-9-]{1,59}/g, (label) => domainToUnicode(label) || label)
}

/** A local part in quotes that needs none (RFC 5321, section 4.1.2), in JSON too. */
const QUOTED = /\\?"([^\s"\\@]{1,64})\\?"@/g

function withoutQuotes(address: string): string {
  return address.replace(QUOTED, '$1@')
}

/**
 * A local part may be in quotes, a domain has several spellings, and of a letter that is not of ASCII the server may
 * know other capitals.
 */
function patternOf(email_key: string): string {
  const local = email_key.slice(0, email_key.lastIndexOf('@'))
  return `%${local.replace(/[^a-z0-9.+-]+/g, '%')}%@%`
}

/** SQL: whether a message says anything. What it says may be the very word that stands for what is gone. */
export function saysAnything({ sql }: Pick<Scope, 'sql'>): Fragment {
  return sql`(body <> ${ERASED} or body_html <> ${ERASED} or cc <> '{}' or signature_html is not null
    or reply_to is not null or direction = 'inbound' and (sender_email is not null or sender_name <> ${ERASED}))`
}

/** The tickets of a contact, hidden ones too. */
async function ticketsOf({ sql, organization_id }: Scope, contact_id: string): Promise<string[]> {
  const tickets = await sql<{ id: string }[]>`
    select id from tickets where organization_id = ${organization_id} and contact_id = ${contact_id} order by id`
  return tickets.map(({ id }) => id)
}

/**
 * The condition for messages, drafts, time entries and timers that were written on some tickets: a merge may have moved
 * them.
 */
export function writtenOn({ sql, organization_id }: Scope, tickets: string[]): Fragment {
  return sql`
    ticket_id = any(array(
      select coalesce(t.merged_into_id, t.id) from tickets t
      where t.organization_id = ${organization_id} and t.id = any(${tickets}::uuid[])
    )) and coalesce(original_ticket_id, ticket_id) = any(${tickets}::uuid[])`
}

/** The condition for participants that other tickets got by a merge of these. */
export function broughtFrom({ sql, organization_id }: Scope, tickets: string[]): Fragment {
  const targets = () => sql`array(
    select s.merged_into_id from tickets s
    where s.organization_id = ${organization_id} and s.id = any(${tickets}::uuid[])
  )`
  return sql`
    ticket_id = any(array(
      select t.id from tickets t
      where t.organization_id = ${organization_id} and (t.id = any(${targets()}) or t.merged_into_id = any(${targets()}))
    )) and original_ticket_id = any(${tickets}::uuid[])`
}

/** The ids of what belongs to tickets and is named in events and answers. */
export async function idsOf(scope: Scope, tickets: string[]): Promise<string[]> {
  const { sql, organization_id } = scope
  const rows = await sql<{ id: string }[]>`
    with own as materialized (
      select id from messages where organization_id = ${organization_id} and ${writtenOn(scope, tickets)}
    )
    select id from own
    union all
    select a.id from own join attachments a on a.organization_id = ${organization_id} and a.message_id = own.id
    union all
    select a.id from drafts d
    join attachments a on a.organization_id = ${organization_id} and a.draft_id = d.id
    where d.organization_id = ${organization_id} and ${writtenOn(scope, tickets)}
    union all
    select id from participants where organization_id = ${organization_id} and ticket_id = any(${tickets}::uuid[])
    union all
    select id from participants where organization_id = ${organization_id} and ${broughtFrom(scope, tickets)}
    union all
    select id from inbound_messages where organization_id = ${organization_id} and ticket_id = any(${tickets}::uuid[])`
  return rows.map(({ id }) => id)
}

/**
 * Walks a table in the order of its ids, in statements that stay short.
 * @param read the next rows after an id
 */
export async function walk<Row extends { id: string }>(
  read: (after: string) => Promise<Row[]>,
  work: (rows: Row[]) => Promise<void>,
): Promise<void> {
  for (let after = ZERO_ID; ; ) {
    const rows = await read(after)
    const last = rows.at(-1)
    if (!last) return
    await work([...rows])
    after = last.id
  }
}
