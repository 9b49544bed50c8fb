/** Reads rows of the mail ledger as the API and events show them. */
import type { Fragment } from '../../base/db/transact'
import type { Scope } from '../../base/scope'

/** Selects mail that got a 250. */
export function taken({ sql, organization_id }: Scope): Fragment {
  return sql`
    select id, mailbox_id, mailbox_address, email_message_id, from_name, from_email, envelope_sender, recipient,
      recipients, from_keys, to_keys, subject, size, remote_address, helo, tls, sender_verified, authentication, spam_score, spam_by, received_at,
      outcome, null as smtp_reply, rule, ticket_id, message_id
    from inbound_messages where organization_id = ${organization_id}`
}

/**
 * Selects rows as answers show them. JSON is made of the rows of the page alone: the database would make it of those
 * before the page too.
 */
export function presented<Row extends object>({ sql }: Scope, rows: Fragment, order?: Fragment) {
  return sql<Row[]>`
    select id,
      case when mailbox_address is not null then
        json_build_object('id', mailbox_id, 'address', mailbox_address)
      end as mailbox,
      email_message_id,
      case when outcome not in ('pending', 'refused') then json_build_object('name', from_name, 'email', from_email) end
        as "from",
      case when remote_address is not null or envelope_sender <> '' then envelope_sender end as envelope_from,
      case when recipients = '{}' then array[recipient] else
        array(select one from unnest(recipients) with ordinality as each (one, place) group by one order by min(place))
      end as recipients,
      subject, size, remote_address, helo, tls, sender_verified, authentication, spam_score, spam_by, received_at,
      outcome, smtp_reply, rule,
      ticket_id, message_id
    from (${rows}) as m ${order ?? sql``}`
}
