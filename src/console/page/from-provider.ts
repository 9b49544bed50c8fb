/**
 * Signs in at the identity provider of an organization: the browser goes there and comes back with a code. What proves
 * that this page began lives in the storage of its tab until then, and opens nothing by itself.
 */
import { type Missing, takeTokens } from './sign-in'
import { type PlainKey, t } from './words/catalogue'

const BEGUN = 'deskwire sign-in'
const BASE = 'api/v1/auth/oidc'

const TEXTS: Record<string, PlainKey> = {
  not_allowed: 'sign_in.not_allowed',
  invited: 'sign_in.invited',
  inactive: 'sign_in.inactive',
  provider_error: 'sign_in.provider_error',
  expired: 'sign_in.too_long',
}

/** The organization that the address of the page names. */
export function givenOrganization(): string {
  return new URLSearchParams(location.search).get('organization') ?? ''
}

/** Sends the browser to the provider of an organization. */
export async function goToProvider(organization_id: string): Promise<void> {
  const [state, verifier] = [randomText(), randomText()]
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))
  sessionStorage.setItem(BEGUN, JSON.stringify({ state, verifier }))
  const query = new URLSearchParams({ code_challenge: inBase64Url(new Uint8Array(digest)), state })
  const start = `${BASE}/${encodeURIComponent(organization_id.trim())}/start?${query}`
  const answer = await fetch(start, { redirect: 'manual' })
  if (answer.status === 404 || answer.status === 422) throw t('sign_in.no_provider')
  location.assign(start)
}

/**
 * Takes what the browser came back with. @returns what is missing; undefined when nothing came, or all is well
 */
export async function comeFromProvider(): Promise<Missing | undefined> {
  const given = new URLSearchParams(location.search)
  const begun = JSON.parse(sessionStorage.getItem(BEGUN) ?? 'null') as { state: string; verifier: string } | null
  if (!given.has('state') || !begun) return undefined
  sessionStorage.removeItem(BEGUN)
  history.replaceState(null, '', location.pathname + location.hash)
  const [code, error] = [given.get('code'), given.get('error')]
  // Another page began it.
  if (given.get('state') !== begun.state) return { fault: t('sign_in.try_again') }
  if (!code) return { fault: t(TEXTS[error ?? ''] ?? 'sign_in.failed') }
  const response = await fetch(`${BASE}/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ code, code_verifier: begun.verifier }),
  })
  return takeTokens(response, t('sign_in.too_long'))
}

function randomText(): string {
  return inBase64Url(crypto.getRandomValues(new Uint8Array(32)))
}

function inBase64Url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}
