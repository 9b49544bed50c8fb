/**
 * Signing in at the identity provider of an organization: to the provider, back with its code, and to the program that
 * began, with a code of ours. Each step counts once. Who has the organization's provider has this organization alone.
 */
import { createHash } from 'node:crypto'
import ipaddr from 'ipaddr.js'
import { audit } from '../../base/audit/audit'
import { config } from '../../base/config'
import { lockAccount } from '../../base/db/account-lock'
import type { Connection } from '../../base/db/transact'
import { ApiError, type Fault } from '../../base/errors'
import { within } from '../../base/flow/within'
import { log } from '../../base/log'
import { afterCommit, inTransaction, type Origin, type Scope, SYSTEM } from '../../base/scope'
import { sign } from '../../base/secrets'
import { isUuid } from '../../base/shapes/ids'
import { forgetMemberships } from '../../http/admission/membership'
import { hashToken, newSecretToken } from '../../http/admission/tokens'
import { isVerifiedHost } from '../../mail/domains/queries'
import { beginSession, claimsOf, type SignedIn } from '../auth/sessions'
import { findPerson, matchPerson, NotAllowed, type ProviderClaims } from './match-person'
import type { ProviderCode } from './model'
import { exchangeCode, metadataOf, ProviderError } from './provider-requests'
import { getStoredProvider, lockProvider, type StoredProvider } from './queries'

const STATE_S = 600
const CODE_S = 60
/** All that is asked of a provider for one request. */
const MOST_MS = 9000

type Started = { redirect_uri: string; state: string | null; code_challenge: string; issuer: string; client_id: string }
type Proven = Started & { user_id: string; subject: string; sid: string | null; seconds: number }

/** The wishes of a program. */
type StartQuery = { code_challenge?: string; redirect_uri?: string; state?: string; code_challenge_method?: string }

/** Where the browser goes. `is_known`: an admin has listed the address, or verified the domain of its host. */
type GoingOn = { location: string; is_known: boolean }

/**
 * Begins a sign-in. @returns where the browser goes: to the provider, which is known when the host is of a verified
 * domain, or back with an error when the provider does not answer
 * @throws IDENTITY_PROVIDER_NOT_FOUND, VALIDATION_ERROR
 */
export async function startSignIn(
  connection: Connection,
  organization_id: string,
  query: StartQuery,
): Promise<GoingOn> {
  const provider = await getStoredProvider(connection, organization_id)
  const redirect_uri = query.redirect_uri ?? `${config.BASE_URL}/`
  const { code_challenge = '', code_challenge_method = 'S256', state = null } = query
  const faults: Fault[] = []
  if (!/^[\w-]{43}$/.test(code_challenge) || code_challenge_method !== 'S256') {
    faults.push({
      path: '/query/code_challenge',
      message: 'must be the SHA-256 of the code_verifier in base64url (S256)',
    })
  }
  if (!mayReturnTo(provider, redirect_uri)) {
    faults.push({ path: '/query/redirect_uri', message: 'is none of the redirect_uris, nor on this computer' })
  }
  if (faults.length > 0) throw new ApiError('VALIDATION_ERROR', { errors: faults })
  const { issuer, client_id } = provider
  const started: Started = { redirect_uri, state, code_challenge, issuer, client_id }
  const metadata = await within(MOST_MS, metadataOf(provider), 'late').catch((error) => tell(organization_id, error))
  if (!metadata) return { location: returnTo(started, { error: 'provider_error' }), is_known: true }
  const token = `${organization_id}.${newSecretToken()}`
  await keep(connection, 'state', token, started, STATE_S)
  const url = new URL(metadata.authorization_endpoint)
  const { code_verifier, nonce } = secretsOf(token)
  const asked = {
    response_type: 'code',
    client_id,
    redirect_uri: callbackUrl(organization_id),
    scope: 'openid email profile',
    state: token,
    nonce,
    code_challenge: challengeOf(code_verifier),
    code_challenge_method: 'S256',
  }
  for (const [name, value] of Object.entries(asked)) url.searchParams.set(name, value)
  return { location: url.href, is_known: await isVerifiedHost(connection, organization_id, url.hostname) }
}

/**
 * Takes the answer of a provider. @returns where the browser goes: back to the program that began
 * @throws BAD_REQUEST for a state that is unknown, used, or of another organization
 */
export async function takeAnswer(
  connection: Connection,
  answer: { organization?: string; state?: string; code?: string; error?: string; iss?: string },
  origin: Origin,
): Promise<string> {
  const organization_id = organizationOf(answer.state)
  const is_its_own = (answer.organization ?? organization_id) === organization_id
  const kept = organization_id && is_its_own && (await take<Started>(connection, 'state', answer.state!))
  if (!kept) throw new ApiError('BAD_REQUEST', { reason: 'The state is unknown or used' })
  const { data: started, is_expired } = kept
  if (is_expired) return returnTo(started, { error: 'expired' })
  const { code, error, iss } = answer
  if (!code || error || (iss !== undefined && iss !== started.issuer))
    return returnTo(started, { error: 'provider_error' })
  const provider = await getStoredProvider(connection, organization_id).catch(() => undefined)
  if (!provider || !isProvider(provider, started)) return returnTo(started, { error: 'not_allowed' })
  const asked = { code, redirect_uri: callbackUrl(organization_id), ...secretsOf(answer.state!) }
  const claims = await within(MOST_MS, exchangeCode(provider, asked), 'late').catch((error) =>
    tell(organization_id, error),
  )
  if (!claims) return returnTo(started, { error: 'provider_error' })
  const scope: Scope = { ...connection, organization_id, actor: SYSTEM, origin }
  try {
    const token = await admitPerson(scope, started, claims)
    return returnTo(started, { code: token })
  } catch (error) {
    if (error instanceof NotAllowed) return returnTo(started, { error: error.reason })
    throw error
  }
}

/** Finds the member of a person, and keeps a code for the program. @throws NotAllowed */
async function admitPerson(scope: Scope, started: Started, claims: ProviderClaims): Promise<string> {
  const { sub: subject, sid } = claims
  const token = `${scope.organization_id}.${newSecretToken()}`
  const found = await inTransaction(scope, async (scope) => {
    await lockProvider(scope)
    const now = await getStoredProvider(scope, scope.organization_id).catch(() => undefined)
    if (!now || !isProvider(now, started)) throw new NotAllowed('not_allowed')
    const result = await matchPerson(scope, now, claims)
    if ('reason' in result) return result
    const { user_id } = result
    const proven = {
      ...started,
      user_id,
      subject,
      sid: typeof sid === 'string' ? sid : null,
      seconds: now.session_seconds,
    }
    await keep(scope, 'code', token, proven, CODE_S)
    afterCommit(scope, () => forgetMemberships(user_id))
    return result
  })
  // An invitation that was sent is kept.
  if ('reason' in found) throw new NotAllowed(found.reason)
  return token
}

/** Exchanges a code of ours for a session in the organization. @throws INVALID_TOKEN */
export async function redeemCode(
  connection: Connection,
  { code, code_verifier }: ProviderCode,
  origin: Origin,
): Promise<SignedIn> {
  const organization_id = organizationOf(code)
  if (!organization_id) throw new ApiError('INVALID_TOKEN')
  // A code that opens nothing is used up too: the transaction goes through.
  const signed_in = await inTransaction({ ...connection, organization_id, actor: SYSTEM, origin }, async (scope) => {
    await lockProvider(scope)
    const kept = await take<Proven>(scope, 'code', code)
    if (!kept || kept.is_expired) return undefined
    const { data: proven } = kept
    if (challengeOf(code_verifier) !== proven.code_challenge) return undefined
    const { user_id, subject, sid, seconds, issuer } = proven
    await lockAccount(scope, user_id)
    const provider = await getStoredProvider(scope, organization_id).catch(() => undefined)
    const person = await findPerson(scope, issuer, subject)
    if (!provider || !isProvider(provider, proven) || person?.user_id !== user_id) return undefined
    const { email, name } = person
    const claims = await claimsOf(scope, { id: user_id, email }, organization_id)
    if (!claims) return undefined
    const session = await beginSession(scope, user_id, origin, { organization_id, subject, sid, seconds })
    const actor = { type: 'user', id: user_id, name } as const
    await audit({ ...scope, actor }, { action: 'auth.login', resource: { type: 'session', id: session.session_id } })
    return { account: { id: user_id, email, name }, claims, ...session }
  })
  if (!signed_in) throw new ApiError('INVALID_TOKEN')
  return signed_in
}

/** Deletes tokens an hour after they expired, for a background job: anybody can make states, which must not pile up. */
export async function deleteProviderTokens({ sql }: Connection): Promise<void> {
  await sql`delete from provider_tokens where expires_at < now() - interval '1 hour'`
}

type Kind = 'state' | 'code'

async function keep(
  { sql }: Pick<Connection, 'sql'>,
  kind: Kind,
  token: string,
  data: Started | Proven,
  valid_s: number,
): Promise<void> {
  const organization_id = organizationOf(token)!
  await sql`
    insert into provider_tokens (organization_id, kind, token_hash, data, expires_at)
    values (${organization_id}, ${kind}, ${hashToken(token)}, ${JSON.stringify(data)}::text::jsonb,
      now() + make_interval(secs => ${valid_s}))`
}

/** Takes a token, which counts once. @returns undefined when it is unknown or used */
async function take<Data>(
  { sql }: Pick<Connection, 'sql'>,
  kind: Kind,
  token: string,
): Promise<{ data: Data; is_expired: boolean } | undefined> {
  const organization_id = organizationOf(token)!
  const [taken] = await sql<{ data: Data; is_expired: boolean }[]>`
    delete from provider_tokens
    where organization_id = ${organization_id} and kind = ${kind} and token_hash = ${hashToken(token)}
    returning data, expires_at <= now() as is_expired`
  return taken
}

/** The organization that a token names in front; undefined for what is no token. */
function organizationOf(token: string | undefined): string | undefined {
  const [id = '', secret] = token?.split('.') ?? []
  return secret && isUuid(id) ? id.toLowerCase() : undefined
}

/** The request to the provider: nobody who sees the state can make it. */
function secretsOf(state: string): { code_verifier: string; nonce: string } {
  const [code_verifier, nonce] = ['verifier', 'nonce'].map((of) =>
    sign('provider', `${of} ${state}`).toString('base64url'),
  )
  return { code_verifier: code_verifier!, nonce: nonce! }
}

function challengeOf(verifier: string): string {
  return createHash('sha256').update(verifier).digest('base64url')
}

/**
 * Where a provider sends the browser: an address for each organization. A hostile provider that passes a sign-in on to
 * the provider of another organization does not get its code: the code comes back to the address of the other.
 */
function callbackUrl(organization_id: string): string {
  return `${config.BASE_URL}/api/v1/auth/oidc/callback?organization=${organization_id}`
}

function mayReturnTo({ redirect_uris }: StoredProvider, uri: string): boolean {
  if (uri === `${config.BASE_URL}/` || redirect_uris.includes(uri)) return true
  if (!URL.canParse(uri) || !/^http:\/\/[^\s#\\@]+$/.test(uri)) return false
  const host = new URL(uri).hostname.replace(/^\[(.*)\]$/, '$1')
  return ipaddr.isValid(host) && ipaddr.process(host).range() === 'loopback'
}

function isProvider(provider: { issuer: string; client_id: string }, { issuer, client_id }: Started): boolean {
  return provider.issuer === issuer && provider.client_id === client_id
}

function returnTo({ redirect_uri, state }: Started, answer: { code: string } | { error: string }): string {
  const url = new URL(redirect_uri)
  for (const [name, value] of Object.entries({ ...answer, ...(state !== null && { state }) })) {
    url.searchParams.set(name, value)
  }
  return url.href
}

/** Logs why a provider cannot be used: a fault of ours is thrown on. */
function tell(organization_id: string, error: unknown): undefined {
  if (!(error instanceof ProviderError) && !(error instanceof Error && error.message === 'late')) throw error
  log.warn({ organization_id, reason: error.message }, 'an identity provider cannot be used')
}
