/** Who calls, and in which organization: three plugins that a section uses before its first route. */
import Elysia from 'elysia'
import { getMembership, type Membership } from '../auth/membership'
import { connection } from '../db/pool'
import { ApiError, fieldError } from '../errors'
import { type Scope, SYSTEM } from '../scope'
import { isUuid } from '../shapes/ids'
import { type Caller, stateOf } from './request'

/** Gives handlers `user`, the caller of a valid access token. @throws INVALID_TOKEN, TOKEN_EXPIRED */
export const signedIn = new Elysia({ name: 'signed-in' }).derive({ as: 'scoped' }, ({ request }) => ({
  user: callerOf(request),
}))

/** Gives handlers `scope`: the organization of the request and the caller's role there. @throws FORBIDDEN */
export const inOrganization = new Elysia({ name: 'in-organization' }).derive({ as: 'scoped' }, async ({ request }) => ({
  scope: await scopeOf(request),
}))

/** As `inOrganization`, for admins only. @throws FORBIDDEN */
export const asAdmin = new Elysia({ name: 'as-admin' }).derive({ as: 'scoped' }, async ({ request }) => {
  const scope = await scopeOf(request)
  if (scope.actor.type !== 'user' || scope.actor.role !== 'admin') throw new ApiError('FORBIDDEN')
  return { scope }
})

/**
 * As `inOrganization`; without a token a signed link will do, which only reads what it names.
 * @param organizationOf the organization that the link's signature vouches for, if it is good
 */
export function byTokenOrLink(organizationOf: (url: string) => string | undefined) {
  return new Elysia({ name: 'by-token-or-link' }).derive({ as: 'scoped' }, async ({ request }) => {
    const organization_id = organizationOf(request.url)
    if (!organization_id) return { scope: await scopeOf(request) }
    stateOf(request).organization_id = organization_id
    const scope: Scope = { ...connection(), organization_id, actor: SYSTEM }
    return { scope }
  })
}

function callerOf(request: Request): Caller {
  const { caller, token_error } = stateOf(request)
  if (!caller) throw token_error ?? new ApiError('INVALID_TOKEN')
  return caller
}

async function scopeOf(request: Request): Promise<Scope> {
  const caller = callerOf(request)
  const header = request.headers.get('x-organization-id')?.trim()
  if (header && !isUuid(header)) {
    throw fieldError('VALIDATION_ERROR', '/headers/x-organization-id', 'must be a UUID')
  }
  const organization_id = header ? header.toLowerCase() : caller.organization_id
  const membership = await getMembership(connection(), caller.id, organization_id)
  stateOf(request).organization_id = organization_id
  return { ...connection(), organization_id, actor: actorOf(caller.id, membership) }
}

function actorOf(id: string, { name, email, role }: Membership): Scope['actor'] {
  return { type: 'user', id, name, email, role }
}
