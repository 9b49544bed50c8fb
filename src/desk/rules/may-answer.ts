/** Keeps rules from answering machines, and anybody too often (RFC 3834). */
import { addressKey } from '../../base/address/email'
import { sharedTime } from '../../base/db/shared-time'
import type { Scope } from '../../base/scope'
import { firstIdAt } from '../../base/shapes/ids'
import { findRecipients } from '../messages/addressees'
import type { Conversation } from '../messages/conversation'

/** How far back answers count. */
export const COUNTED_HOURS = 24

/**
 * Answers of one rule to one address on whatever tickets. A machine that does not say so, and opens a ticket by each
 * mail, ends with it; so does who forges the address of somebody else.
 */
export const MOST_TO_ADDRESS = 20

/**
 * Tells if a rule may write a public message on a ticket that the caller has locked: neither the message that started
 * it nor the customer's newest one is a machine's, a list's or forged, and no recipient got one of it here, or many of
 * it elsewhere, in 24 hours.
 * @param message_id the message that started it, if one did
 */
export async function mayAnswer(
  scope: Scope,
  rule_id: string,
  conversation: Conversation,
  message_id: string | null,
): Promise<boolean> {
  const { sql, organization_id } = scope
  const { recipients } = await findRecipients(scope, conversation, undefined)
  const keys = recipients.map(({ email }) => addressKey(email))
  const since = firstIdAt(sharedTime() - COUNTED_HOURS * 3_600_000)
  const [found] = await sql<{ is_of_machine: boolean; is_answered: boolean; is_flooded: boolean }[]>`
    select exists (
      select from messages m
      where m.organization_id = ${organization_id} and m.ticket_id = ${conversation.id}
        and (m.auto_reply or m.from_list or m.sender_verified is false or ${isReport(scope)})
        and (m.id = ${message_id} or m.id = (
          select n.id from messages n
          where n.organization_id = ${organization_id} and n.ticket_id = ${conversation.id} and n.direction = 'inbound'
          order by n.id desc limit 1
        ))
    ) as is_of_machine, exists (
      select from messages m
      left join message_recipients r on r.organization_id = ${organization_id} and r.message_id = m.id
      where m.organization_id = ${organization_id} and m.ticket_id = ${conversation.id} and m.rule_id = ${rule_id}
        and not m.is_internal and m.id >= ${since}
        and (r.email_key is null or r.email_key = any(${keys}::text[]) or ${keys.length === 0})
    ) as is_answered, exists (
      select from message_recipients r
      join messages m on m.organization_id = ${organization_id} and m.id = r.message_id and m.rule_id = ${rule_id}
      where r.organization_id = ${organization_id} and r.email_key = any(${keys}::text[]) and r.message_id >= ${since}
      group by r.email_key having count(*) >= ${MOST_TO_ADDRESS}
    ) as is_flooded`
  return !found!.is_of_machine && !found!.is_answered && !found!.is_flooded
}

/** SQL: the note about a report, which the service writes itself (`mail/inbound/record-bounce.ts`). */
function isReport({ sql }: Scope) {
  return sql`(m.is_internal and m.channel = 'email' and m.sender_email is null)`
}
