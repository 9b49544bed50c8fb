/** Writes what is done to a mailbox into the audit log. Of its password the log says only that there is one. */
import { auditChanges } from '../../base/audit/audit'
import { changesOf, masked } from '../../base/audit/changes-of'
import type { Scope } from '../../base/scope'
import type { Mailbox, MailboxChanges } from './model'
import { getMailbox } from './queries'

type MaskedMailbox = Omit<Mailbox, 'smtp' | 'sending'> & {
  smtp: (NonNullable<Mailbox['smtp']> & { password: string | null }) | null
}

/** Reads a mailbox as the audit log shows it. @throws MAILBOX_NOT_FOUND */
export async function getMasked(scope: Scope, id: string): Promise<MaskedMailbox> {
  const { sql, organization_id } = scope
  const { sending: _, ...mailbox } = await getMailbox(scope, id)
  const [row] = await sql<{ has_password: boolean }[]>`
    select smtp_password is not null as has_password from mailboxes
    where organization_id = ${organization_id} and id = ${id}`
  return { ...mailbox, smtp: mailbox.smtp && { ...mailbox.smtp, password: masked(row?.has_password) } }
}

/** Adds the entry of a new mailbox. */
export async function auditCreated(scope: Scope, id: string): Promise<void> {
  const changes = changesOf(null, await getMasked(scope, id))
  await auditChanges(scope, { action: 'mailbox.created', resource: { type: 'mailbox', id }, changes })
}

/**
 * Adds the entry of a change.
 * @param input what was asked for: a secret in it is listed even if there was one before
 * @param renewed fields with a secret that is new, which are listed in any case
 */
export async function auditUpdated(
  scope: Scope,
  before: MaskedMailbox,
  input: MailboxChanges,
  renewed: string[] = hasSecret(input) ? ['smtp'] : [],
): Promise<void> {
  const { id } = before
  const changes = changesOf(before, await getMasked(scope, id), renewed)
  await auditChanges(scope, { action: 'mailbox.updated', resource: { type: 'mailbox', id }, changes })
}

/** Adds the entry of a deletion. */
export async function auditDeleted(scope: Scope, before: MaskedMailbox): Promise<void> {
  const resource = { type: 'mailbox', id: before.id } as const
  await auditChanges(scope, { action: 'mailbox.deleted', resource, changes: changesOf(before, null) })
}

function hasSecret({ smtp }: MailboxChanges): boolean {
  return Boolean(smtp?.password || smtp?.auth?.client_secret || smtp?.auth?.refresh_token)
}
