/** Finds mail of tickets on which nobody but its sender has written: its Reply-To counts although nothing proves it. */
import { addressKey } from '../../base/address/email'
import { type Scope, together } from '../../base/scope'
import { addressesOf } from '../../desk/contacts/contact-addresses'
import type { InboundMail } from './message'

type Reply = { ticket_id: string; mail: InboundMail; contact: { id: string } | null }

/**
 * Gives the replies whose Reply-To counts only at first, as long as each message of their ticket is of the same person.
 * @param replies to tickets that the caller has locked
 */
export async function findUnanswered<R extends Reply>(scope: Scope, replies: R[]): Promise<R[]> {
  const asked = replies.filter(({ mail, contact }) => mail.directs === 'at first' && contact !== null)
  if (asked.length === 0) return []
  const { sql, organization_id } = scope
  const ticket_ids = asked.map(({ ticket_id }) => ticket_id)
  const [rows, of_contacts] = await together([
    sql<{ ticket_id: string; email: string | null }[]>`
      select distinct ticket_id, case when direction = 'inbound' then sender_email end as email from messages
      where organization_id = ${organization_id} and ticket_id = any(${ticket_ids}::uuid[])`,
    addressesOf(
      scope,
      asked.map(({ contact }) => contact!.id),
    ),
  ])
  const writers = Map.groupBy(rows, ({ ticket_id }) => ticket_id)
  return asked.filter(({ ticket_id, contact }) => {
    const own = new Set(of_contacts.get(contact!.id)?.map(({ email_key }) => email_key))
    return (writers.get(ticket_id) ?? []).every(({ email }) => email !== null && own.has(addressKey(email)))
  })
}
