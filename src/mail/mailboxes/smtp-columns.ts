/** SMTP settings of a mailbox as columns. Keeps stored secrets from servers that they were not given for. */

import { isOneLine } from '../../base/address/characters'
import { isInNetworks, networksAt } from '../../base/address/networks'
import { config } from '../../base/config'
import { ApiError, type Fault, fieldError } from '../../base/errors'
import { DestinationError, resolveDestination } from '../../base/net/destination'
import type { Scope } from '../../base/scope'
import { encrypt } from '../../base/secrets'
import { isPerson } from '../../http/request/permissions'
import type { NewMailbox } from './model'
import { storeSignIn } from './sign-in-settings'

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
 * Gives the columns of SMTP settings, and stores how tokens are got. Without settings the mailbox only receives. A
 * stored password is write only: it stays as long as host, port, security and user name stay, or else an admin could
 * send it to a server that shows it. Who repeats what is stored has not set it: the form of the console sends all, also
 * when only the name was changed.
 * @param mailbox_id of the mailbox that the settings are for; the caller holds the lock of the organization's mailboxes
 * @throws VALIDATION_ERROR at secrets that another server, user or client needs again
 */
export async function smtpColumns(scope: Scope, mailbox_id: string, smtp: SmtpInput | null | undefined) {
  const stored = await findStored(scope, mailbox_id)
  const [host, username] = [smtp?.host.trim(), smtp?.username ?? null]
  const { port, security, password, auth = null } = smtp ?? {}
  const is_same =
    stored?.host === host && stored?.port === port && stored?.security === security && stored?.username === username
  if (!smtp) {
    await storeSignIn(scope, mailbox_id, null, is_same)
    return NOTHING
  }
  const at = { column: 'mailboxes.smtp_password', organization_id: scope.organization_id, id: mailbox_id } as const
  const is_kept = password === undefined && stored?.has_password === true && !auth
  if (is_kept && !is_same) throw fieldError('VALIDATION_ERROR', '/smtp/password', GIVE_AGAIN)
  const is_other_sign_in = await storeSignIn(scope, mailbox_id, auth, is_same)
  return {
    smtp_host: host,
    smtp_port: port,
    smtp_security: security,
    smtp_username: username,
    ...((!is_same || password !== undefined || is_other_sign_in) && { is_smtp_by_key: !isPerson(scope) }),
    ...((password !== undefined || auth) && { smtp_password: password ? encrypt(password, at) : null }),
  }
}

const GIVE_AGAIN = 'must be given again, or null, when host, port, security or username change'

/**
 * Refuses what does not go together: tokens beside a password or without a user name, and a secret that would cross a
 * public network in plain text. It may wait for the resolver, so it is to be called before the transaction.
 * @throws VALIDATION_ERROR at the fields of /smtp
 */
export async function checkSmtp(smtp: SmtpInput | null | undefined): Promise<void> {
  if (!smtp) return
  const errors: Fault[] = []
  if (smtp.auth) {
    if (!smtp.username || !isOneLine(smtp.username)) {
      errors.push({ path: '/smtp/username', message: 'must be given, without control characters, beside auth' })
    }
    if (smtp.password) errors.push({ path: '/smtp/password', message: 'must not be given beside auth' })
    if (smtp.security === 'none') {
      errors.push({ path: '/smtp/security', message: 'must be starttls or tls beside auth' })
    }
  } else if (smtp.security === 'none' && smtp.password && !(await isInAllowedNetwork(smtp.host.trim(), smtp.port))) {
    const message =
      'must be starttls or tls when there is a password, unless the operator allows the network of the server'
    errors.push({ path: '/smtp/security', message })
  }
  if (errors.length > 0) throw new ApiError('VALIDATION_ERROR', { errors }, 422)
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
