/** Memberships: adding and ending them, with the rule that an organization keeps an admin. */
import { lockAccount } from '../../base/db/account-lock'
import { ApiError, fieldError } from '../../base/errors'
import { afterCommit, type Scope } from '../../base/scope'
import { removeDrafts } from '../../desk/drafts/remove-drafts'
import { keepDrafts } from '../../desk/drafts/send-later'
import { emptyNames } from '../../desk/naming/empty-names'
import { removeMarksOf } from '../../desk/read-marks/keep-marks'
import { leaveTeams } from '../../desk/teams/commands'
import { stopTimerOf } from '../../desk/timers/commands'
import { disownViews } from '../../desk/views/commands'
import { forgetMemberships } from '../../http/admission/membership'
import { endProviderSessions, endSessionsOfNoMember } from '../auth/sessions'
import { ADMINS, hasActiveAdmin, lockAdmins } from './queries'

/**
 * Ends a membership; tickets and time entries keep the name, a running timer is logged, and read marks, private views
 * and drafts are removed. Drafts that were to be sent later stay, for others. Teams go on without the member.
 * @throws USER_NOT_FOUND when there is none; VALIDATION_ERROR for the last admin
 */
export async function removeMembership(scope: Scope, user_id: string): Promise<void> {
  const { sql, organization_id } = scope
  await lockAccount(scope, user_id)
  await lockAdmins(scope)
  const [member] = await sql<{ role: string; active: boolean }[]>`
    update memberships set removed_at = now(), updated_at = now()
    where organization_id = ${organization_id} and user_id = ${user_id} and removed_at is null
    returning role, active`
  if (!member) throw new ApiError('USER_NOT_FOUND')
  await sql`delete from identities where organization_id = ${organization_id} and user_id = ${user_id}`
  await endProviderSessions(scope, organization_id, { user_id })
  await stopTimerOf(scope, user_id)
  const own = () => sql`d.author_type = 'user' and d.author_id = ${user_id}`
  await keepDrafts(scope, own(), 'USER_NOT_FOUND')
  await removeDrafts(scope, sql`${own()} and d.send_error is null`)
  await removeMarksOf(scope, user_id)
  await disownViews(scope, user_id)
  await leaveTeams(scope, user_id)
  await emptyNames(scope, 'member', user_id)
  await endSessionsOfNoMember(scope, user_id)
  if (member.active && isAdmin(member.role)) await requireAdmin(scope, '')
  afterCommit(scope, () => forgetMemberships(user_id))
}

/** Tells whether members with this role count as admins. */
export function isAdmin(role: string): boolean {
  return ADMINS.some((admin) => admin === role)
}

/** @param path of the field that takes the last admin away @throws VALIDATION_ERROR */
export async function requireAdmin(scope: Scope, path: string): Promise<void> {
  if (await hasActiveAdmin(scope)) return
  throw fieldError('VALIDATION_ERROR', path, 'is the last admin of the organization')
}
