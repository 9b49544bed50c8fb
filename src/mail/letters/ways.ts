/**
 * The ways by which a letter can leave. They are worth different things: the admins of an organization control the
 * server of its mailbox and could read what is sent through it, so a link that went that way proves an address to that
 * organization alone. Only the operator's server proves it to all.
 */
import { addressKey, mailboxKey } from '../../base/address/email'
import { fieldError } from '../../base/errors'
import type { Scope } from '../../base/scope'
import { mayUseAddress } from '../../desk/messages/mailbox-address'
import { carriesLetters } from '../mailboxes/queries'
import { operatorServer } from './operator-server'

/** The operator's server, or the default mailbox of the organization. */
export type Way = { type: 'operator' } | { type: 'mailbox'; mailbox_id: string }

/** Finds the way for letters of an organization: the operator's server, else its default mailbox, if that can send. */
export async function findWay({ sql, organization_id }: Scope): Promise<Way | undefined> {
  if (operatorServer()) return { type: 'operator' }
  const [mailbox] = await sql<{ id: string }[]>`
    select id from mailboxes m
    where organization_id = ${organization_id} and is_default and active
      and ${carriesLetters(sql)} and ${mayUseAddress(sql)}`
  return mailbox && { type: 'mailbox', mailbox_id: mailbox.id }
}

/** As `findWay`. @throws EMAIL_SEND_FAILED at /email when no letter can leave */
export async function requireWay(scope: Scope): Promise<Way> {
  const way = await findWay(scope)
  if (way) return way
  const reason =
    'no invitation can be sent: the organization has no default mailbox with an SMTP server that an admin has set'
  throw fieldError('EMAIL_SEND_FAILED', '/email', reason)
}

/**
 * Tells whether an email is the address of a mailbox of the organization, or of another one that the person belongs to.
 * Mail that is sent there becomes a ticket, which many people read, so letters do not go there. A mailbox of others
 * withholds nothing: they would lock people out by making one with their addresses. An organization that made the
 * account without the person is one of these: the person has set no password through a link, or is also a member of an
 * organization without such a mailbox. A letter that leaves and comes in at a mailbox is dropped (`findLetters`).
 */
export async function isOwnMailbox({ sql, organization_id }: Scope, email: string): Promise<boolean> {
  const membership = sql`
    select from memberships s join users u on u.id = s.user_id
    where u.email_key = ${addressKey(email)} and s.removed_at is null`
  const found = await sql`
    select from mailboxes m
    where m.address_key = ${mailboxKey(email)} and m.active and ${mayUseAddress(sql)}
      and (
        m.organization_id = ${organization_id}
        or exists (${membership} and s.organization_id = m.organization_id and u.is_password_held)
      )
      and not exists (${membership} and s.organization_id <> m.organization_id)`
  return found.length > 0
}
