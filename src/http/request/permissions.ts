/** Permissions: what a caller may do. No other file compares roles or kinds of callers; commands ask here too. */
import { ROLES } from '../../base/db/schema'
import { ApiError } from '../../base/errors'
import type { Actor, Scope } from '../../base/scope'

const RESOURCES = [
  'tickets', // with their labels, participants and activity
  'messages', // with attachments
  'drafts',
  'macros',
  'contacts',
  'companies',
  'labels',
  'time_entries',
  'views',
  'webhooks',
  'mailboxes', // with domains
  'inbound_messages',
  'users',
  'teams',
  'schedules',
  'sla_policies',
  'rules',
  'organization',
] as const

/** Permissions that a caller can be given. */
export type Permission =
  | `${(typeof RESOURCES)[number]}:${'read' | 'write'}`
  | 'audit_log:read'
  | 'retention:read'
  | 'reports:read'
  | 'contact_tokens:write'

export const PERMISSIONS: readonly Permission[] = [
  ...RESOURCES.flatMap((resource) => [`${resource}:read`, `${resource}:write`] as const),
  'audit_log:read',
  'retention:read',
  'reports:read',
  'contact_tokens:write',
]

/** The words that stand for permissions of an API key. Write includes read, `*` stands for every resource. */
export const GRANTS = [...PERMISSIONS, '*:read', '*:write'] as const

/**
 * Rights that cannot be given: signed-in people have them, as members of the organization or as its admins, and
 * customers by their tokens.
 */
export type Standing = 'member' | 'admin' | 'customer'

/** Permissions of an agent. Closed by default: admins may do everything, and all that is missing here is theirs. */
const AGENT: ReadonlySet<Permission | Standing> = new Set([
  ...(['member', 'tickets:read', 'tickets:write', 'messages:read', 'messages:write'] as const),
  ...(['drafts:read', 'drafts:write', 'macros:read', 'macros:write'] as const),
  ...(['contacts:read', 'contacts:write', 'companies:read', 'companies:write', 'labels:read', 'labels:write'] as const),
  ...(['time_entries:read', 'time_entries:write', 'webhooks:read', 'mailboxes:read'] as const),
  ...(['users:read', 'teams:read', 'organization:read', 'views:read', 'views:write'] as const),
  ...(['schedules:read', 'sla_policies:read', 'reports:read', 'rules:read'] as const),
])

type Role = (typeof ROLES)[number]

/**
 * Decides whether the scope's actor may do something. An API key has what it was given, and never what people have by
 * their role. Customers have their own routes alone, which nobody else has. The system has no permissions: what is done
 * in its name does not begin with a request.
 * @param owner_id the user who owns the thing, for what agents may do with their own things only
 */
export function permits({ actor }: Pick<Scope, 'actor'>, needed: Permission | Standing, owner_id?: string): boolean {
  if (actor.type === 'contact' || needed === 'customer') return actor.type === 'contact' && needed === 'customer'
  if (actor.type === 'api_key') return isPermission(needed) && actor.permissions.has(needed)
  if (actor.type !== 'user') return false
  if (actor.role === 'admin') return true
  return roleMay(actor.role, needed) && (owner_id === undefined || owner_id === actor.id)
}

type Written = {
  author: { type: string; id: string }
  /** A person has changed what an API key wrote. */
  is_taken: boolean
  /** Its author is a member no more. */
  is_left: boolean
}

/**
 * Decides whether the scope's actor may change, or use as the author, what a person or an API key wrote: people what
 * they, any key or a member who left wrote, a key only what it wrote itself, until a person changes it.
 */
export function mayChange({ actor }: Pick<Scope, 'actor'>, { author, is_taken, is_left }: Written): boolean {
  if (actor.type === 'user' && (author.type === 'api_key' || is_left)) return true
  return actor.type === author.type && actor.id === author.id && (actor.type === 'user' || !is_taken)
}

/** The rights that a route asks for: one of the first two, and the third. */
type Need = {
  permission: Permission | Standing
  or_permission?: Permission | 'member' | readonly Permission[]
  and_permission?: Permission | readonly Permission[]
}

/** Returns a right that the scope's actor lacks for a route; undefined when it may call it. */
export function lackedRight(
  scope: Pick<Scope, 'actor'>,
  { permission, or_permission = [], and_permission = [] }: Need,
): Permission | Standing | undefined {
  if (![permission, or_permission].flat().some((one) => permits(scope, one))) return permission
  return [and_permission].flat().find((one) => !permits(scope, one))
}

/** The 403 for an actor who lacks what is needed. A program is told which permission that is. */
export function lacking({ actor }: Pick<Scope, 'actor'>, needed: Permission | Standing): ApiError {
  if (actor.type !== 'api_key') return new ApiError('FORBIDDEN')
  return isPermission(needed) ? new ApiError('FORBIDDEN', { required: needed }) : notForKeys()
}

/** Lets nobody pass who may not do something. @throws FORBIDDEN */
export function requireRight(scope: Pick<Scope, 'actor'>, needed: Permission): void {
  if (!permits(scope, needed)) throw lacking(scope, needed)
}

/** The 403 of what no API key may do. */
export function notForKeys(): ApiError {
  return new ApiError('FORBIDDEN', { reason: 'API keys may not do this: sign in' })
}

/** The permissions that the words given to an API key stand for. */
export function permissionsOf(grants: readonly string[]): ReadonlySet<string> {
  return new Set(PERMISSIONS.filter((permission) => grants.some((grant) => includes(grant, permission))))
}

/** The words by which an API key has a permission. */
export function grantsOf(needed: Permission): string[] {
  return GRANTS.filter((grant) => includes(grant, needed))
}

/** The roles whose holders have a permission. */
export function rolesThatMay(needed: Permission): Role[] {
  return ROLES.filter((role) => roleMay(role, needed))
}

/** Tells whether the scope's actor is a person who signed in. */
export function isPerson({ actor }: Pick<Scope, 'actor'>): boolean {
  return actor.type === 'user'
}

/** The person or API key in whose name something is written. @throws FORBIDDEN when it is neither */
export function requireAuthor({ actor }: Pick<Scope, 'actor'>): Extract<Actor, { type: 'user' | 'api_key' }> {
  if (actor.type !== 'user' && actor.type !== 'api_key') throw new ApiError('FORBIDDEN')
  return actor
}

/** The id of the person who signed in. @returns null for others, such as API keys */
export function personId({ actor }: Pick<Scope, 'actor'>): string | null {
  return actor.type === 'user' ? actor.id : null
}

/** The person in whose name something is done. @throws FORBIDDEN when it is not a person who signed in */
export function requirePerson({ actor }: Pick<Scope, 'actor'>): Extract<Actor, { type: 'user' }> {
  if (actor.type !== 'user') throw new ApiError('FORBIDDEN')
  return actor
}

/** A contact who asks by a token, and the tickets that the token shows. */
export type Customer = Extract<Actor, { type: 'contact' }> & { token: { id: string; scope: 'own' | 'company' } }

/** Tells whether a contact asks by a token. */
export function isCustomer({ actor }: Pick<Scope, 'actor'>): boolean {
  return actor.type === 'contact' && actor.token !== undefined
}

/** The customer who asks. @throws INVALID_TOKEN when it is somebody else */
export function requireCustomer({ actor }: Pick<Scope, 'actor'>): Customer {
  if (actor.type !== 'contact' || !actor.token) throw new ApiError('INVALID_TOKEN')
  return actor as Customer
}

function roleMay(role: Role, needed: Permission | Standing): boolean {
  return role === 'admin' || AGENT.has(needed)
}

/** Tells permissions, which can be given to API keys, from other words that a route declares. */
export function isPermission(word: string | undefined): word is Permission {
  return PERMISSIONS.some((permission) => permission === word)
}

function includes(grant: string, permission: Permission): boolean {
  const [granted_resource, granted_access] = grant.split(':')
  const [resource, access] = permission.split(':')
  const is_of_resource = granted_resource === '*' || granted_resource === resource
  return is_of_resource && (granted_access === 'write' || granted_access === access)
}
