/**
 * Keeps who is signed in: in the memory of this page, and in the storage of its tab for a reload. No other origin reads
 * that storage or hears the channel, and frames of messages run no script. A new tab asks the tabs that are open; with
 * the last one the session is gone.
 */
import type { AccessToken, Me, Tokens } from '../../people/auth/model'
import { Cell } from './cell'
import { t } from './words/catalogue'

type Session = { access_token: string; refresh_token: string; me: Me }

/** `asking`: other tabs are asked. `ended`: the page stays as it is under the form for signing in again. */
type SignIn = { state: 'asking' } | { state: 'none' } | { state: 'in' | 'ended'; me: Me }

export const signIn = new Cell<SignIn>({ state: 'asking' })

/** How long other tabs have to answer. */
const ASK_MS = 150
const BASE = 'api/v1'
/** Where the session stands in the storage of the tab. */
const KEPT = 'deskwire session'

let session: Session | undefined
/** The refresh token that was refused: other tabs may not know it yet. */
let refused: string | undefined
let renewing: Promise<boolean> | undefined
const tabs = new BroadcastChannel('deskwire')

tabs.onmessage = ({ data }: MessageEvent<'ask' | 'out' | Session>) => {
  if (data === 'ask') {
    if (session) tabs.postMessage(session)
  } else if (data === 'out') forget({ state: 'none' })
  else if (!session && data.refresh_token !== refused && isSame(data.me)) keep(data)
}

/** Tells if somebody may go on here. What another person has written is not theirs. */
function isSame({ id }: Me): boolean {
  return signIn.value.state !== 'ended' || signIn.value.me.id === id
}

/** Goes on with the session that this tab had before it was loaded again, or with that of another tab. */
export function goOn(): void {
  if (session) return
  const kept = sessionStorage.getItem(KEPT)
  if (kept) {
    keep(JSON.parse(kept))
    return void readMe()
  }
  tabs.postMessage('ask')
  setTimeout(() => {
    if (signIn.value.state === 'asking') signIn.value = { state: 'none' }
  }, ASK_MS)
}

/** The header of a request; empty when nobody is signed in. */
export function authorization(): { authorization?: string } {
  return session ? { authorization: `Bearer ${session.access_token}` } : {}
}

/** The need of a sign-in: a code for the challenge, or what `fault` says in words. */
export type Missing = { challenge: string } | { fault: string }

/** Signs in, here and in tabs that wait for it. @returns what is missing */
export async function signInWith(email: string, password: string): Promise<Missing | undefined> {
  const response = await post('/auth/login', { email, password })
  return takeTokens(response, t('sign_in.wrong'))
}

/** Signs in with the code of a second factor. @returns what is missing */
export async function signInWithCode(challenge: string, code: string): Promise<Missing | undefined> {
  const response = await post('/auth/login/second-factor', { challenge, code })
  return takeTokens(response, t('sign_in.wrong_code'))
}

/** Keeps the tokens of an answer, here and in tabs that wait for them. @param wrong is said of a 401 */
export async function takeTokens(response: Response, wrong: string): Promise<Missing | undefined> {
  if (response.status === 401) {
    const { error } = await response.json()
    return error.code === 'SECOND_FACTOR_REQUIRED' ? { challenge: error.details.challenge } : { fault: wrong }
  }
  if (!response.ok) return refusal(response)
  const { access_token, refresh_token } = (await response.json()) as Tokens
  const me = await askWho(access_token)
  if (!me.ok) return refusal(me)
  const next = { access_token, refresh_token, me: (await me.json()) as Me }
  keep(next)
  tabs.postMessage(next)
  return undefined
}

function askWho(access_token: string): Promise<Response> {
  return fetch(`${BASE}/auth/me`, { headers: { authorization: `Bearer ${access_token}` } })
}

/** Reads again who is signed in: roles and organizations change. */
export async function readMe(): Promise<void> {
  const token = session?.access_token
  const response = token ? await askWho(token).catch(() => undefined) : undefined
  if (session?.access_token !== token) return
  // A person who was switched off has no session any more.
  if (response?.status === 401) return void renew()
  if (!response?.ok) return
  const me = (await response.json()) as Me
  if (session && JSON.stringify(me) !== JSON.stringify(session.me)) keep({ ...session, me })
}

function refusal({ status }: Response): Missing {
  if (status === 429) return { fault: t('sign_in.too_many') }
  return { fault: t('sign_in.answered', { status }) }
}

/**
 * Gets a new access token. When the session has ended, it waits until the person has signed in again. Requests that
 * need one at the same time share it. @returns false when the service cannot say now
 */
export function renew(): Promise<boolean> {
  renewing ??= renewNow().finally(() => {
    renewing = undefined
  })
  return renewing
}

async function renewNow(): Promise<boolean> {
  if (session) {
    const response = await post('/auth/refresh', { refresh_token: session.refresh_token }).catch(() => undefined)
    if (response?.ok && session) {
      const { access_token } = (await response.json()) as AccessToken
      hold({ ...session, access_token })
      return true
    }
    if (response?.status !== 401) return false
    if (session) {
      refused = session.refresh_token
      forget({ state: 'ended', me: session.me })
      tabs.postMessage('ask')
    }
  }
  return signedInAgain()
}

/** @returns false when the person signs out instead */
function signedInAgain(): Promise<boolean> {
  return new Promise((resolve) => {
    const end = signIn.listen(() => {
      if (signIn.value.state === 'ended') return
      end()
      resolve(signIn.value.state === 'in')
    })
  })
}

/** Id of the person who is signed in, or whose session has ended. */
export function personHere(): string | undefined {
  return 'me' in signIn.value ? signIn.value.me.id : undefined
}

/** Signs out here and in the other tabs. */
export async function signOut(): Promise<void> {
  const token = session?.refresh_token
  const headers = authorization()
  forget({ state: 'none' })
  tabs.postMessage('out')
  if (token) await post('/auth/logout', { refresh_token: token }, headers).catch(() => {})
}

function hold(next: Session): void {
  session = next
  sessionStorage.setItem(KEPT, JSON.stringify(next))
}

function keep(next: Session): void {
  hold(next)
  signIn.value = { state: 'in', me: next.me }
}

function forget(next: SignIn): void {
  session = undefined
  sessionStorage.removeItem(KEPT)
  signIn.value = next
}

function post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(BASE + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
}
