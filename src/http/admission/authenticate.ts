/** Admission: decides by what a route declares whether its caller may go on, and gives handlers what was found. */
import Elysia from 'elysia'
import { accountsOf, connectionOf, lookUps, readingOf } from '../../base/db/pool'
import type { Connection } from '../../base/db/transact'
import { ApiError, fieldError } from '../../base/errors'
import { type Actor, type Scope, SYSTEM } from '../../base/scope'
import { isUuid } from '../../base/shapes/ids'
import { type Declaration, type Declarations, declarationOf, isInOrganization } from '../request/declarations'
import { lackedRight, lacking, notForKeys, type Permission, type Standing } from '../request/permissions'
import { type Caller, originOf, stateOf } from '../request/request'
import { isApi, isInlet } from '../request/url'
import { countedBy, identify, showsKey } from './credentials'
import { requireOrigin } from './cross-origin'
import { listingInTransaction } from './key-audit'
import { getMembership, requireSession } from './membership'

/**
 * Refuses, on every route, callers who lack what it declares.
 * @throws INVALID_TOKEN, TOKEN_EXPIRED; in an organization also FORBIDDEN, and VALIDATION_ERROR for its header
 */
export function admission(declarations: Declarations) {
  return new Elysia({ name: 'admission' }).onTransform({ as: 'global' }, async ({ request, route, query, body }) => {
    const declaration = declarationOf(declarations, request.method, route)
    const { permission } = declaration
    if (isInOrganization(permission))
      stateOf(request).scope = await admit(request, route, { ...declaration, permission }, { query, body })
    else if (permission === 'account') await admitAccount(request, declaration)
    else if (
      isApi(request.url) &&
      !isInlet(request.url) &&
      (showsKey(request) || stateOf(request).caller?.type === 'contact')
    )
      userOf(request)
  })
}

/** @throws INVALID_TOKEN; FORBIDDEN for what a session of an identity provider may not do */
async function admitAccount(request: Request, { is_for_providers }: Declaration): Promise<void> {
  const { provider_organization_id } = await requireSession(lookUps(), userOf(request))
  if (provider_organization_id !== null && !is_for_providers) throw new ApiError('FORBIDDEN')
}

/** A plugin for a section: gives handlers `user`, the caller. Its routes declare `permission: 'account'`. */
export const signedIn = new Elysia({ name: 'signed-in' }).derive({ as: 'scoped' }, ({ request }) => ({
  user: userOf(request),
}))

/** A plugin for a section: gives handlers `scope`. Its routes declare a permission, `member` or `admin`. */
export const inOrganization = new Elysia({ name: 'in-organization' }).derive({ as: 'scoped' }, ({ request }) => ({
  scope: scopeOf(request),
}))

export function scopeOf(request: Request): Scope {
  const { scope } = stateOf(request)
  if (!scope) throw new Error('A route in no organization asks for its scope')
  return scope
}

/**
 * Judges the caller of a request again, for an answer that goes on for long.
 * @returns its scope with the rights of now
 * @throws INVALID_TOKEN, TOKEN_EXPIRED, FORBIDDEN as another request would
 */
export async function admitAgain(request: Request, scope: Scope): Promise<Scope> {
  const state = stateOf(request)
  state.caller = undefined
  await identify(request, state)
  return { ...scope, actor: await actorOf(callerOf(request), scope.organization_id) }
}

type Admission = Declaration & { permission: Permission | Standing }

/** The wishes of a request, before it is known to be well formed. */
type Asked = { query: unknown; body: unknown }

async function admit(request: Request, route: string, admission: Admission, asked: Asked): Promise<Scope> {
  const { permission, link } = admission
  const linked = link?.(request.url)
  // A signed link only reads what it names: nobody acts.
  if (linked) return scopeIn(request, linked, SYSTEM, readingOf)
  const caller = callerOf(request)
  // Tokens of customers are for their own routes, which take no other credential.
  if ((caller.type === 'contact') !== (permission === 'customer')) throw new ApiError('INVALID_TOKEN')
  if (caller.type === 'contact') requireOrigin(request, caller)
  const organization_id = organizationOf(request, caller)
  const placesOf = onlyReads(request, admission, asked) ? readingOf : connectionOf
  const scope = scopeIn(request, organization_id, await actorOf(caller, organization_id), placesOf)
  const lacked = lackedRight(scope, admission)
  if (lacked) throw lacking(scope, lacked)
  return caller.type === 'api_key' ? { ...scope, alongside: listingInTransaction(request, route, admission) } : scope
}

/** The scope of a request whose signed link the route itself has judged: the service acts. */
export function scopeOfLink(request: Request, organization_id: string): Scope {
  return scopeIn(request, organization_id, SYSTEM, connectionOf)
}

function scopeIn(
  request: Request,
  organization_id: string,
  actor: Actor,
  placesOf: (organization_id: string) => Connection,
): Scope {
  stateOf(request).organization_id = organization_id
  const reading = readingOf(organization_id)
  return { ...placesOf(organization_id), reading, organization_id, actor, origin: originOf(request) }
}

function onlyReads({ method }: Request, { reads }: Declaration, { query, body }: Asked): boolean {
  if (reads !== 'dry run') return reads ?? (method === 'GET' || method === 'HEAD')
  const { dry_run } = { ...(query as object), ...(body as object) } as { dry_run?: unknown }
  return dry_run === true || dry_run === 'true'
}

/**
 * The connection for a request in no organization. Its caller, or the address of who has none, holds one connection of
 * the pool at a time.
 */
export function accountConnection(request: Request): Connection {
  return accountsOf(countedBy(stateOf(request)).key)
}

function callerOf(request: Request): Caller {
  const { caller, credential_error } = stateOf(request)
  if (!caller) throw credential_error ?? new ApiError('INVALID_TOKEN')
  return caller
}

/** The caller of a route about the caller's own account, which only people have. */
function userOf(request: Request): Extract<Caller, { type: 'user' }> {
  const caller = callerOf(request)
  if (caller.type === 'contact') throw new ApiError('INVALID_TOKEN')
  if (caller.type !== 'user') throw notForKeys()
  return caller
}

/** The organization that the header names, else the caller's first one. */
function organizationOf(request: Request, caller: Caller): string {
  const header = caller.type === 'contact' ? undefined : request.headers.get('x-organization-id')?.trim()
  if (!header) return caller.organization_id
  if (isUuid(header)) return header.toLowerCase()
  throw fieldError('VALIDATION_ERROR', '/headers/x-organization-id', 'must be a UUID')
}

/**
 * Makes the actor of a caller: each kind of caller has a case. The membership is judged before the session, because a
 * member whose last membership ended has no session either, and is to be answered 403.
 * @throws FORBIDDEN for one who is not in the organization, INVALID_TOKEN for one whose session was ended,
 *   PROVIDER_REQUIRED, SECOND_FACTOR_MISSING
 */
async function actorOf(caller: Caller, organization_id: string): Promise<Actor> {
  switch (caller.type) {
    case 'user': {
      const member = await getMembership(lookUps(organization_id), caller.id, organization_id).catch(async (error) => {
        // An ended session no longer counts for the person.
        if (error instanceof ApiError) await requireSession(lookUps(), caller).catch(() => {})
        throw error
      })
      const session = await requireSession(lookUps(), caller)
      const { name, email, role } = member
      const actor = { type: 'user', id: caller.id, name, email, role } as const
      if (session.provider_organization_id !== null) {
        if (session.provider_organization_id !== organization_id) throw new ApiError('FORBIDDEN')
        return { ...actor, is_from_provider: true }
      }
      if (member.is_provider_required) throw new ApiError('PROVIDER_REQUIRED')
      if (member.require_second_factor && !session.has_second_factor) throw new ApiError('SECOND_FACTOR_MISSING')
      return actor
    }
    case 'api_key': {
      if (organization_id !== caller.organization_id) throw new ApiError('FORBIDDEN')
      const { id, name, permissions } = caller
      return { type: 'api_key', id, name, email: null, permissions }
    }
    case 'contact': {
      const { id, name, email, token_id, scope } = caller
      return { type: 'contact', id, name, email, token: { id: token_id, scope } }
    }
  }
}
