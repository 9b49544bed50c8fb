import { addressKey } from '../../base/address/email'
import type { Connection } from '../../base/db/transact'
import { ApiError } from '../../base/errors'
import type { Scope } from '../../base/scope'
import { hashToken } from '../../http/admission/tokens'
import type { Invitation } from './model'

/** An invitation as the database has it. */
export type StoredInvitation = {
  organization_id: string
  organization_name: string
  id: string
  email: string
  name: string
  role: 'admin' | 'agent'
  hourly_rate: number | null
  currency: string | null
  is_proof: boolean
}

/** The account of an invited address, and what it takes to accept in its name. */
export type InvitedAccount = {
  id: string
  email: string
  name: string
  password_hash: string
  is_password_held: boolean
  /** Another organization relies on it. */
  is_member_elsewhere: boolean
  has_second_factor: boolean
}

/**
 * Finds the invitation of a token, in any organization.
 * @throws TOKEN_EXPIRED; INVALID_TOKEN when it is unknown, used or taken back
 */
export async function getByToken({ sql }: Connection, token: string): Promise<StoredInvitation> {
  const [row] = await sql<(StoredInvitation & { expired: boolean })[]>`
    select i.organization_id, o.name as organization_name, i.id, i.email, i.name, i.role, i.hourly_rate, i.currency,
      i.is_proof, i.expires_at <= now() as expired
    from invitations i join organizations o on o.id = i.organization_id
    where i.token_hash = ${hashToken(token)}`
  if (!row) throw new ApiError('INVALID_TOKEN')
  const { expired, ...invitation } = row
  if (expired) throw new ApiError('TOKEN_EXPIRED')
  return invitation
}

/** Finds the account of an invited address. */
export async function findInvitedAccount(
  { sql }: Connection,
  { email, organization_id }: StoredInvitation,
): Promise<InvitedAccount | undefined> {
  const [account] = await sql<InvitedAccount[]>`
    select u.id, u.email, u.name, u.password_hash, u.is_password_held, exists (
      select 1 from memberships m
      where m.user_id = u.id and m.organization_id <> ${organization_id} and m.removed_at is null and not m.is_imported
    ) as is_member_elsewhere, exists (
      select 1 from second_factors f where f.id = u.id and f.confirmed_at is not null
    ) as has_second_factor
    from users u where u.email_key = ${addressKey(email)}`
  return account
}

/** Shows an invitation to the person who has its token. @throws TOKEN_EXPIRED, INVALID_TOKEN */
export async function showInvitation(connection: Connection, token: string): Promise<Invitation> {
  const invitation = await getByToken(connection, token)
  const account = await findInvitedAccount(connection, invitation)
  const { organization_name, role, email } = invitation
  const needs_password = !account?.is_password_held
  const needs_current_password = account !== undefined && needsBoth(invitation, account)
  return { organization: { name: organization_name }, role, email, needs_password, needs_current_password }
}

/**
 * Tells whether a link alone is too little to set the password of an account. A link that went by the organization's
 * own mailbox could have been read by its admins, and would give them the account with all that other organizations
 * trust it with. The present password alone is too little as well: an admin of another organization may know it.
 */
export function needsBoth({ is_proof }: StoredInvitation, account: InvitedAccount): boolean {
  return !account.is_password_held && account.is_member_elsewhere && !is_proof
}

/** Tells whether somebody is invited to the organization with this email. */
export async function isInvited({ sql, organization_id }: Scope, email: string): Promise<boolean> {
  const found = await sql`
    select from invitations where organization_id = ${organization_id} and email_key = ${addressKey(email)}`
  return found.length > 0
}
