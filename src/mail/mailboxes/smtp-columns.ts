/** SMTP settings of a mailbox as columns. Keeps the stored password from servers that it was not given for. */

import { isInNetworks, networksAt } from '../../base/address/networks'
import { config } from '../../base/config'
import { fieldError } from '../../base/errors'
import { DestinationError, resolveDestination } from '../../base/net/destination'
import type { Scope } from '../../base/scope'
import { encrypt } from '../../base/secrets'
import { isPerson } from '../../http/request/permissions'
import type { NewMailbox } from './model'

type SmtpInput = NonNullable<NewMailbox['smtp']>

const NOTHING = {
  smtp_host: null,
  smtp_port: null,
  smtp_security: null,
  smtp_username: null,
  smtp_password: null,
  is_smtp_by_key: false,
}

type StoredSmtp = {
  host: string | null
  port: number
  security: string
  username: string | null
  has_password: boolean
}

/**
 * Gives the columns of SMTP settings; without settings the mailbox only receives. A stored password is write only: it
 * stays as long as host, port, security and user name stay, or else an admin could send it to a server that shows it.
 * Who repeats what is stored has not set it: the form of the console sends all, also when only the name was changed.
 * @param mailbox_id of the mailbox that the settings are for; the caller holds the lock of the organization's mailboxes
 * @throws VALIDATION_ERROR at /smtp/password when another server or user needs the password again
 */
export async function smtpColumns(scope: Scope, mailbox_id: string, smtp: SmtpInput | null | undefined) {
  if (!smtp) return NOTHING
  const { port, security, password } = smtp
  const [host, username] = [smtp.host.trim(), smtp.username ?? null]
  const at = { column: 'mailboxes.smtp_password', organization_id: scope.organization_id, id: mailbox_id } as const
  const stored = await findStored(scope, mailbox_id)
  const is_kept = password === undefined && stored?.has_password === true
  const is_same =
    stored?.host === host && stored.port === port && stored.security === security && stored.username === username
  if (is_kept && !is_same) {
    const fault = 'must be given again, or null, when host, port, security or username change'
    throw fieldError('VALIDATION_ERROR', '/smtp/password', fault)
  }
  return {
    smtp_host: host,
    smtp_port: port,
    smtp_security: security,
    smtp_username: username,
    ...((!is_same || password !== undefined) && { is_smtp_by_key: !isPerson(scope) }),
    ...(password !== undefined && { smtp_password: password === null ? null : encrypt(password, at) }),
  }
}

/**
 * Refuses a password that would cross a public network in plain text. It may wait for the resolver, so it is to be
 * called before the transaction.
 * @throws VALIDATION_ERROR at /smtp/security
 */
export async function checkPlainText(smtp: SmtpInput | null | undefined): Promise<void> {
  if (smtp?.security !== 'none' || !smtp.password || (await isInAllowedNetwork(smtp.host.trim(), smtp.port))) return
  const fault = 'must be starttls or tls when there is a password, unless the operator allows the network of the server'
  throw fieldError('VALIDATION_ERROR', '/smtp/security', fault)
}

/** Tells if all addresses of a host are in MAIL_ALLOWED_NETWORKS. A name that cannot be resolved is in none of them. */
async function isInAllowedNetwork(host: string, port: number): Promise<boolean> {
  const allowed = networksAt(port, config.MAIL_ALLOWED_NETWORKS)
  if (allowed.length === 0) return false
  try {
    const addresses = await resolveDestination(host, { allowed })
    return addresses.every((address) => isInNetworks(address, allowed))
  } catch (error) {
    if (error instanceof DestinationError) return false
    throw error
  }
}

async function findStored({ sql, organization_id }: Scope, id: string): Promise<StoredSmtp | undefined> {
  const [stored] = await sql<StoredSmtp[]>`
    select smtp_host as host, smtp_port as port, smtp_security as security, smtp_username as username,
      smtp_password is not null as has_password
    from mailboxes where organization_id = ${organization_id} and id = ${id}`
  return stored
}
