/**
 * The ways by which a letter can leave. They are worth different things: the admins of an organization control the server of
 * its mailbox and could read what is sent through it, so a link that went that way proves an address to that organization
 * alone. Only the operator's server proves it to all.
 */
import { mayUseAddress } from '../domains/claims'
import { fieldError } from '../errors'
import type { Scope } from '../scope'
import { operatorServer } from './operator-server'

/** The operator's server, or the default mailbox of the organization. */
export type Way = { type: 'operator' } | { type: 'mailbox'; mailbox_id: string }

/** Finds the way for letters of an organization: the operator's server, else its default mailbox, if that can send. */
export async function findWay({ sql, organization_id }: Scope): Promise<Way | undefined> {
  if (operatorServer()) return { type: 'operator' }
  const [mailbox] = await sql<{ id: string }[]>`
    select id from mailboxes m
    where organization_id = ${organization_id} and is_default and active and smtp_host is not null and ${mayUseAddress(sql)}`
  return mailbox && { type: 'mailbox', mailbox_id: mailbox.id }
}

/** As `findWay`. @throws EMAIL_SEND_FAILED at /email when no letter can leave */
export async function requireWay(scope: Scope): Promise<Way> {
  const way = await findWay(scope)
  if (way) return way
  const reason = 'no invitation can be sent: the organization has no default mailbox that sends'
  throw fieldError('EMAIL_SEND_FAILED', '/email', reason)
}
