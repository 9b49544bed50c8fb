/**
 * Tokens of customers: `dct_`, 22 characters for the organization and 43 for 256 random bits, base64url. The
 * organization is in the text, so that a look-up asks the one machine of a cluster that has its rows.
 */
import { randomBytes } from 'node:crypto'
import type { CONTACT_TOKEN_SCOPES } from '../../base/db/schema'
import { sharedTime } from '../../base/db/shared-time'
import type { Connection } from '../../base/db/transact'
import { ApiError } from '../../base/errors'
import { grantsOf, rolesThatMay } from '../request/permissions'
import { hashKey } from './key-format'
import { Remembered } from './remembered'

const BEGIN = 'dct_'
const FORM = /^dct_([\w-]{22})[\w-]{43}$/
const RANDOM_BYTES = 32

/** A contact, by a token that it holds. */
type KnownCustomer = {
  id: string
  name: string
  email: string
  organization_id: string
  token_id: string
  scope: (typeof CONTACT_TOKEN_SCOPES)[number]
  /** Unix seconds. */
  expires_s: number
  /** Origins of pages that may use tokens of the organization. */
  portal_origins: string[]
}

const known = new Remembered<KnownCustomer>()

/** Makes a token. Only its hash is stored (`hashKey`). */
export function newCustomerToken(organization_id: string): string {
  const organization = Buffer.from(organization_id.replaceAll('-', ''), 'hex').toString('base64url')
  return `${BEGIN}${organization}${randomBytes(RANDOM_BYTES).toString('base64url')}`
}

/** Tells tokens of customers from access tokens, well formed or not. */
export function isCustomerToken(token: string): boolean {
  return token.startsWith(BEGIN)
}

/**
 * Finds the contact whose token it is.
 * @param connectionOf the connection of an organization
 * @param mayLookUp as for API keys (`known-keys.ts`)
 * @throws INVALID_TOKEN, also once its maker may make none any more; TOKEN_EXPIRED
 */
export async function findCustomer(
  connectionOf: (organization_id: string) => Connection,
  token: string,
  mayLookUp: () => Promise<boolean>,
): Promise<KnownCustomer> {
  const organization_id = organizationOf(token)
  if (organization_id === undefined) throw new ApiError('INVALID_TOKEN')
  const customer = await known.find(hashKey(token), mayLookUp, (hash) =>
    readCustomer(connectionOf(organization_id), organization_id, hash),
  )
  if (!customer) throw new ApiError('INVALID_TOKEN')
  if (customer.expires_s * 1000 <= sharedTime()) throw new ApiError('TOKEN_EXPIRED')
  return customer
}

/** Forgets what is remembered of the tokens of a contact, after some were revoked. */
export function forgetCustomer(contact_id: string): void {
  known.forget(({ id }) => id === contact_id)
}

function organizationOf(token: string): string | undefined {
  const [, organization] = FORM.exec(token) ?? []
  const hex = organization && Buffer.from(organization, 'base64url').toString('hex')
  return hex?.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

async function readCustomer(
  { sql }: Connection,
  organization_id: string,
  hash: Buffer,
): Promise<KnownCustomer | undefined> {
  const [row] = await sql<Omit<KnownCustomer, 'organization_id'>[]>`
    select c.id, c.name, c.email, t.id as token_id, t.scope, extract(epoch from t.expires_at)::float8 as expires_s,
      o.portal_origins
    from contact_tokens t
    join contacts c on c.organization_id = ${organization_id} and c.id = t.contact_id
    join organizations o on o.id = ${organization_id}
    where t.organization_id = ${organization_id} and t.token_hash = ${hash} and (
      exists (
        select 1 from api_keys k
        where k.organization_id = ${organization_id} and k.id = t.api_key_id and k.revoked_at is null
          and k.permissions && ${grantsOf('contact_tokens:write')}::text[]
      ) or exists (
        select 1 from memberships m
        where m.organization_id = ${organization_id} and m.user_id = t.user_id and m.role = any(${rolesThatMay('contact_tokens:write')}::text[]) and m.active
          and m.removed_at is null
      )
    )`
  return row && { ...row, organization_id }
}
