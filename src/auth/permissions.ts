/**
 * Permissions: what a caller may do. No other file compares roles or kinds of callers.
 * Commands ask here too, so this file stands beside the accounts and not in `http/`, which commands must not know.
 */
import { ROLES } from '../db/schema'
import { ApiError } from '../errors'
import type { Actor, Scope } from '../scope'

type Resource =
  | 'tickets' // with their labels, participants and activity
  | 'messages' // with attachments
  | 'contacts'
  | 'companies'
  | 'labels'
  | 'time_entries'
  | 'webhooks'
  | 'mailboxes'
  | 'inbound_messages'
  | 'users'
  | 'organization'

/** Permissions that a caller can be given. */
export type Permission = `${Resource}:${'read' | 'write'}` | 'audit_log:read'

/** Rights that cannot be given: signed-in people have them, as members of the organization or as its admins. */
export type Standing = 'member' | 'admin'

/** Permissions of an agent. Closed by default: admins may do everything, and all that is missing here is theirs. */
const AGENT: ReadonlySet<Permission | Standing> = new Set([
  ...(['member', 'tickets:read', 'tickets:write', 'messages:read', 'messages:write'] as const),
  ...(['contacts:read', 'contacts:write', 'companies:read', 'companies:write', 'labels:read', 'labels:write'] as const),
  ...(['time_entries:read', 'time_entries:write', 'webhooks:read', 'mailboxes:read'] as const),
  ...(['users:read', 'organization:read'] as const),
])

type Role = (typeof ROLES)[number]

/**
 * Decides whether the scope's actor may do something. Contacts and the system have no permissions: what is done in
 * their name does not begin with a request.
 * @param owner_id the user who owns the thing, for what agents may do with their own things only
 */
export function permits({ actor }: Pick<Scope, 'actor'>, needed: Permission | Standing, owner_id?: string): boolean {
  if (actor.type !== 'user') return false
  if (actor.role === 'admin') return true
  return roleMay(actor.role, needed) && (owner_id === undefined || owner_id === actor.id)
}

/** The roles whose holders have a permission. */
export function rolesThatMay(needed: Permission): Role[] {
  return ROLES.filter((role) => roleMay(role, needed))
}

/** The person in whose name something is done. @throws FORBIDDEN when it is not a person who signed in */
export function requirePerson({ actor }: Pick<Scope, 'actor'>): Extract<Actor, { type: 'user' }> {
  if (actor.type !== 'user') throw new ApiError('FORBIDDEN')
  return actor
}

function roleMay(role: Role, needed: Permission | Standing): boolean {
  return role === 'admin' || AGENT.has(needed)
}
