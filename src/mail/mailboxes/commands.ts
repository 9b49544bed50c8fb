import { and, eq, sql } from 'drizzle-orm'
import { domainsOf, toDomain } from '../../base/address/domains'
import { addressKey } from '../../base/address/email'
import { newId } from '../../base/db/columns'
import { preparedText } from '../../base/db/prepared-text'
import { mailboxes } from '../../base/db/schema'
import { violates } from '../../base/db/violations'
import { fieldError } from '../../base/errors'
import type { Format } from '../../base/html/formats'
import { inTransaction, type Scope } from '../../base/scope'
import { encrypt } from '../../base/secrets'
import { freeLane } from '../../delivery/outbox/lane-faults'
import { type Deed, deleteInSteps, leaveSome, STEP } from '../../desk/deeds/deeds'
import { emptyNames } from '../../desk/naming/empty-names'
import { requireTeam } from '../../desk/teams/queries'
import { isPerson } from '../../http/request/permissions'
import { sendOptions } from '../outbound/settings'
import { testMailbox as tryConnection } from '../outbound/transport'
import { auditCreated, auditDeleted, auditUpdated, getMasked } from './audit-mailbox'
import { claimAddress, deleteWithAddress } from './claim-address'
import { keepAddress } from './claims'
import { lockMailboxes, settleDefault } from './default-mailbox'
import { newDkimKey, readDkimKey } from './dkim'
import type { Mailbox, MailboxChanges, MailboxTest, NewMailbox } from './model'
import { getMailbox, getMailboxSmtp } from './queries'
import { checkSmtp, smtpColumns } from './smtp-columns'

/**
 * Creates a mailbox; the first one of an organization is its default.
 * @throws EMAIL_ALREADY_EXISTS (`claimAddress`), TEAM_NOT_FOUND
 */
export async function createMailbox(scope: Scope, input: NewMailbox): Promise<Mailbox> {
  const {
    smtp,
    dkim,
    is_default = false,
    name,
    from_name,
    signature,
    signature_format,
    quote = 'last',
    ...fields
  } = input
  const id = newId()
  const signing = dkimColumns(scope, id, dkim, await madeKey(dkim))
  await checkSmtp(smtp)
  return inTransaction(scope, async (scope) => {
    await lockMailboxes(scope)
    await requireTeam(scope, fields.team_id)
    const { db, organization_id } = scope
    const server = await smtpColumns(scope, id, smtp)
    await db
      .insert(mailboxes)
      .values({
        ...fields,
        address_key: addressKey(fields.address),
        has_address: false,
        name: name || null,
        from_name: from_name || null,
        ...signatureColumns(signature ?? null, signature_format),
        quote,
        organization_id,
        id,
        ...server,
        ...signing,
      })
      .catch(addressExists)
    await claimAddress(scope, id, fields.address)
    await checkDkimDomain(scope, id)
    await settleDefault(scope, is_default ? id : null)
    await auditCreated(scope, id)
    return getMailbox(scope, id)
  })
}

/**
 * Changes a mailbox; `is_default: true` moves the default to it.
 * @throws MAILBOX_NOT_FOUND, EMAIL_ALREADY_EXISTS, TEAM_NOT_FOUND
 */
export async function updateMailbox(scope: Scope, id: string, changes: MailboxChanges): Promise<Mailbox> {
  const { smtp, dkim, is_default, name, from_name, signature, signature_format, ...fields } = changes
  // 404 comes before what is wrong with the body.
  if (smtp || dkim) await getMailbox(scope, id)
  await checkSmtp(smtp)
  const made_key = await madeKey(dkim)
  return inTransaction(scope, async (scope) => {
    await lockMailboxes(scope)
    const { db, organization_id } = scope
    const before = await getMasked(scope, id)
    await requireTeam(scope, fields.team_id)
    const signing = dkim === undefined ? {} : dkimColumns(scope, id, dkim, made_key, before)
    const server = smtp === undefined ? {} : await smtpColumns(scope, id, smtp)
    const { address = before.address } = fields
    const is_other = addressKey(address) !== addressKey(before.address)
    if (is_other) await keepAddress(scope, id)
    await db
      .update(mailboxes)
      .set({
        ...fields,
        ...(is_other && { address_key: addressKey(address), has_address: false }),
        ...(name !== undefined && { name: name || null }),
        ...(from_name !== undefined && { from_name: from_name || null }),
        ...signatureColumns(signature, signature_format),
        ...server,
        ...(is_other && !isPerson(scope) && { is_smtp_by_key: true }),
        ...signing,
        updated_at: sql`now()`,
      })
      .where(and(eq(mailboxes.organization_id, organization_id), eq(mailboxes.id, id)))
      .catch(addressExists)
    if (is_other) await claimAddress(scope, id, address, before.address)
    await checkDkimDomain(scope, id)
    await settleDefault(scope, is_default ? id : null)
    if (smtp !== undefined || fields.active || is_default) await freeMail(scope, id)
    await auditUpdated(scope, before, changes)
    return getMailbox(scope, id)
  })
}

/**
 * Deletes a mailbox. Tickets and the ledger forget it; when it was the default, the oldest active one follows.
 * @throws MAILBOX_NOT_FOUND
 */
export function deleteMailbox(scope: Scope, id: string): Promise<void> {
  const note = async (scope: Scope) => auditDeleted(scope, await getMasked(scope, id))
  return deleteInSteps(scope, 'delete mailbox', id, note, deleteSome)
}

/** A step of it. */
export async function deleteSome(scope: Scope, { subject_id: id }: Pick<Deed, 'subject_id'>): Promise<boolean> {
  if (!(await leaveSome(scope, 'mailbox_id', id))) return false
  if (!(await leaveLedger(scope, id))) return false
  await lockMailboxes(scope)
  const { sql, organization_id } = scope
  const [mailbox] = await sql<{ address: string }[]>`
    select address from mailboxes where organization_id = ${organization_id} and id = ${id}`
  if (!mailbox) return true
  await deleteWithAddress(scope, id, mailbox.address)
  await freeMail(scope, id)
  await settleDefault(scope, null)
  await emptyNames(scope, 'mailbox', id)
  return true
}

/** Empties the mailbox of some mail in the ledger. @returns true when no more names it */
async function leaveLedger({ sql, organization_id }: Scope, id: string): Promise<boolean> {
  const { count } = await sql`
    update inbound_messages set mailbox_id = null
    where organization_id = ${organization_id} and id = any(array(
      select i.id from inbound_messages i
      where i.organization_id = ${organization_id} and i.mailbox_id = ${id}
      order by i.id limit ${STEP} for no key update
    ))`
  return count < STEP
}

/**
 * Connects and signs in; sends nothing. When that works, all that waits for the mailbox goes out. @throws
 * MAILBOX_NOT_FOUND
 */
export async function testMailbox(scope: Scope, id: string): Promise<MailboxTest> {
  const smtp = await getMailboxSmtp(scope, id)
  if (!smtp) return { ok: false, error: 'The mailbox has no SMTP settings: it only receives', response_time_ms: 0 }
  const test = await tryConnection(smtp, sendOptions())
  if (test.ok) await inTransaction(scope, (scope) => freeMail(scope, id))
  return test
}

/** Lets all mail that waits for a mailbox try at once: its own, and letters, which may leave by it. */
async function freeMail(scope: Scope, id: string): Promise<void> {
  await freeLane(scope, id)
  await freeLane(scope, scope.organization_id)
}

type DkimInput = NonNullable<NewMailbox['dkim']>

/**
 * Makes a key for a signature without one: before the transaction, because it takes 100 ms that all mailboxes would
 * wait.
 */
async function madeKey(dkim: DkimInput | null | undefined): Promise<string | undefined> {
  return dkim && !dkim.private_key ? newDkimKey() : undefined
}

/**
 * Gives the columns of a signature. Without a key in the input the stored key stays as long as domain and selector do,
 * under which its DNS record was published; else `made_key` is the new one.
 */
function dkimColumns(
  { organization_id }: Scope,
  mailbox_id: string,
  dkim: DkimInput | null | undefined,
  made_key: string | undefined,
  before?: Pick<Mailbox, 'dkim'>,
) {
  if (!dkim) return { dkim_domain: null, dkim_selector: null, dkim_private_key: null }
  const [dkim_domain, dkim_selector] = [toDomain(dkim.domain.trim())!, dkim.selector.trim()]
  const { domain, selector, dns_record } = before?.dkim ?? {}
  const is_published = domain === dkim_domain && selector === dkim_selector && dns_record
  if (is_published && !dkim.private_key) return {}
  const key = made_key ?? readDkimKey(dkim.private_key!)!
  const at = { column: 'mailboxes.dkim_private_key', organization_id, id: mailbox_id } as const
  return { dkim_domain, dkim_selector, dkim_private_key: encrypt(key, at) }
}

/** Refuses a signature of another domain, which proves nothing about the sender's domain (RFC 7489 section 3.1.1). */
async function checkDkimDomain(scope: Scope, id: string): Promise<void> {
  const { address, dkim } = await getMailbox(scope, id)
  if (!dkim || domainsOf(address).includes(dkim.domain)) return
  throw fieldError('VALIDATION_ERROR', '/dkim/domain', 'must be the domain of the address, or one above it')
}

/** The columns of the signature. */
function signatureColumns(given: string | null | undefined, given_format: Format | undefined) {
  const { text, format } = preparedText(given, given_format, mailboxes.signature)
  return { signature: text, signature_format: format }
}

function addressExists(error: unknown): never {
  throw violates(error, 'mailboxes_own_address') ? fieldError('EMAIL_ALREADY_EXISTS', '/address') : error
}
