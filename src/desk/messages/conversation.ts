/**
 * Locks a ticket for those who write into its conversation, and knows the addresses of the organization's mailboxes.
 */
import { addressKey, mailboxKey } from '../../base/address/email'
import { withChangeTime } from '../../base/db/change-time'
import { newId } from '../../base/db/columns'
import type { TICKET_STATUSES } from '../../base/db/schema'
import { ApiError } from '../../base/errors'
import { type Scope, together } from '../../base/scope'
import { idAfter } from '../../base/shapes/ids'
import { requireUnmerged } from '../timeline/require-ticket'

export type Conversation = {
  id: string
  code: string
  subject: string
  status: (typeof TICKET_STATUSES)[number]
  mailbox_id: string | null
  contact_id: string | null
  contact_name: string | null
  /** The primary address of the contact. */
  contact_email: string | null
  /** Null while the ticket has none. */
  last_message_id: string | null
  /** The time of changes that are made under the lock. */
  locked_at: string
}

/**
 * Waits until no other process files mail of the organization, merges or splits its tickets, and keeps others waiting
 * until the transaction ends. It comes before the locks of tickets. One lock for each conversation instead would let
 * two processes file at once, and a set would take hundreds: the server has room for 6,400 of them in all.
 */
export async function lockMail({ sql, organization_id }: Scope): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`file mail ${organization_id}`}, 0))`
}

/**
 * Locks the ticket until the transaction ends; logging time on it stays possible.
 * @throws TICKET_NOT_FOUND, TICKET_MERGED
 */
export async function lockConversation(scope: Scope, ticket_id: string): Promise<Conversation> {
  const [conversation] = (await lockConversations(scope, [ticket_id])).values()
  return conversation!
}

/**
 * As `lockConversation`, for several tickets, by their ids. They are locked in one order, so that two transactions
 * never wait for each other. A second statement reads the tickets, because a statement that waited for a lock reads the
 * other tables as they were before.
 */
export async function lockConversations(
  { sql, organization_id }: Scope,
  ticket_ids: string[],
): Promise<Map<string, Conversation>> {
  if (ticket_ids.length === 0) return new Map()
  const [[locked, locked_at], conversations] = await together([
    withChangeTime(
      sql,
      sql`
      select from tickets
      where organization_id = ${organization_id} and id = any(${ticket_ids}::uuid[]) and deleted_at is null
      order by id for no key update`,
    ),
    sql<(Omit<Conversation, 'locked_at'> & { merged_into: { id: string; code: string } | null })[]>`
      select t.id, t.code, t.subject, t.status, t.mailbox_id, t.contact_id, c.name as contact_name,
        c.email as contact_email, (
        select json_build_object('id', i.id, 'code', i.code) from tickets i
        where i.organization_id = ${organization_id} and i.id = t.merged_into_id
      ) as merged_into, (
        select m.id from messages m where m.organization_id = ${organization_id} and m.ticket_id = t.id
        order by m.id desc limit 1
      ) as last_message_id
      from tickets t
      left join contacts c on c.organization_id = ${organization_id} and c.id = t.contact_id
      where t.organization_id = ${organization_id} and t.id = any(${ticket_ids}::uuid[])`,
  ])
  if (locked.length < ticket_ids.length) throw new ApiError('TICKET_NOT_FOUND')
  return new Map(
    conversations.map(({ merged_into, ...conversation }) => {
      requireUnmerged({ merged_into })
      return [conversation.id, { ...conversation, locked_at }]
    }),
  )
}

/**
 * Makes the id of the next message of a locked ticket. It comes after those of all messages that the ticket has,
 * whatever the clocks of other processes say, so that the order of ids is the order of writing.
 */
export function nextMessageId(conversation: Pick<Conversation, 'last_message_id'>): string {
  const { last_message_id } = conversation
  const id = newId()
  conversation.last_message_id = last_message_id !== null && id <= last_message_id ? idAfter(last_message_id) : id
  return conversation.last_message_id
}

/**
 * Finds those of the addresses that belong to mailboxes of the organization, with or without a `+tag`.
 * @returns their keys, those of the addresses as given
 */
export async function ownAddresses({ sql, organization_id }: Scope, addresses: string[]): Promise<Set<string>> {
  if (addresses.length === 0) return new Set()
  const rows = await sql<{ key: string }[]>`
    select given.key from unnest(${addresses.map(addressKey)}::text[], ${addresses.map(mailboxKey)}::text[])
      as given (key, mailbox_key)
    join mailboxes m on m.organization_id = ${organization_id} and m.address_key = given.mailbox_key`
  return new Set(rows.map(({ key }) => key))
}
