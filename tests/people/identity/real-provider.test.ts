/** Signing in at a provider that others wrote: `oidc-provider`, with its keys, codes, and logout. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import type { RequestListener } from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair } from 'jose'
import Provider from 'oidc-provider'
import { config } from '../../../src/base/config'
import { type Answer, createOrganization, type Organization, startApi, stopApi, stranger } from '../../support/api'
import { issueCertificate } from '../../support/certificates'
import { stepClock } from '../../support/clock'
import { addressOf, trustLoopbackProviders } from '../../support/identity-provider'

const VERIFIER = 'v'.repeat(50)
const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url')
const APP = 'http://127.0.0.1:4000/back'
const SECRET = 'a secret: with/signs'
let settings: Disposable
let server: https.Server
let issuer: string
let desk: Organization
/** The client that the organization registers at the provider, which takes nothing else. */
let callback: string
let authority: string
let handle: RequestListener

beforeAll(async () => {
  await startApi()
  settings = await trustLoopbackProviders()
  desk = await createOrganization()
  callback = `${config.BASE_URL}/api/v1/auth/oidc/callback?organization=${desk.id}`
  const { cert, key, ca } = await issueCertificate()
  authority = ca
  server = https.createServer({ cert, key }, (request, response) => handle(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  issuer = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  handle = await newProvider()
  const set = { issuer, client_id: 'desk', client_secret: SECRET }
  expect((await desk.admin.send('PUT', '/identity-provider', set)).status).toBe(200)
})
afterAll(async () => {
  stepClock(0)
  server.closeAllConnections()
  server.close()
  settings[Symbol.dispose]()
  await stopApi()
})

test('a member signs in there, and again after its keys were changed', async () => {
  const first = await signInThere()
  expect(first.body.user.id).toBe(desk.agent.user_id)
  const session = { authorization: `Bearer ${first.body.access_token}` }
  expect((await stranger().get('/tickets', session)).status).toBe(200)
  handle = await newProvider()
  // An unknown key is looked for once a minute.
  stepClock(61_000)
  expect((await signInThere()).body.user.id).toBe(desk.agent.user_id)
})

test('a code of the provider counts once', async () => {
  const [one, two] = [await start(), await start()]
  const code = new URL(await browse(one.url)).searchParams.get('code')!
  const back = async (state: string) => {
    const answer = await stranger().get(`/auth/oidc/callback?${new URLSearchParams({ state, code, iss: issuer })}`)
    return new URL(answer.headers.get('location')!).searchParams
  }
  expect((await back(one.state)).has('code')).toBe(true)
  expect((await back(two.state)).get('error')).toBe('provider_error')
})

/** A provider with a new key, which asks for a name and lets everybody in. */
async function newProvider(): Promise<RequestListener> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true })
  const provider = new Provider(issuer, {
    jwks: { keys: [{ ...(await exportJWK(privateKey)), kid: crypto.randomUUID(), use: 'sig', alg: 'RS256' }] },
    clients: [{ client_id: 'desk', client_secret: SECRET, redirect_uris: [callback] }],
    claims: { email: ['email', 'email_verified'] },
    conformIdTokenClaims: false,
    findAccount: (_: unknown, accountId: string) => ({
      accountId,
      claims: async () => ({ sub: accountId, email: desk.agent.email, email_verified: true }),
    }),
    cookies: { keys: ['only in tests'] },
  })
  return provider.callback()
}

async function start(): Promise<{ url: string; state: string }> {
  const query = new URLSearchParams({ code_challenge: CHALLENGE, redirect_uri: APP })
  const answer = await stranger().get(`/auth/oidc/${desk.id}/start?${query}`)
  const { href, searchParams } = addressOf(answer)
  return { url: href, state: searchParams.get('state')! }
}

async function signInThere(): Promise<Answer> {
  const { search } = new URL(await browse((await start()).url))
  const back = await stranger().get(`/auth/oidc/callback${search}`)
  const code = new URL(back.headers.get('location')!).searchParams.get('code')
  return stranger().post('/auth/oidc/token', { code, code_verifier: VERIFIER })
}

/** Does what a person does in a browser at the provider. @returns the address of the service that it leads to */
async function browse(address: string): Promise<string> {
  const cookies = new Map<string, string>()
  let url = address
  let form: string | undefined
  for (let step = 0; step < 20; step++) {
    if (url.startsWith(callback)) return url
    const answer: Response = await fetch(url, {
      method: form ? 'POST' : 'GET',
      body: form,
      redirect: 'manual',
      headers: {
        cookie: [...cookies].map((pair) => pair.join('=')).join('; '),
        ...(form && { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      tls: { ca: authority },
    })
    for (const cookie of answer.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie)!
      cookies.set(name!, value!)
    }
    const location = answer.headers.get('location')
    const text = await answer.text()
    form = undefined
    if (location) url = new URL(location, url).href
    else if (/name="login"/.test(text)) form = 'prompt=login&login=alan&password=x'
    else if (/value="consent"/.test(text)) form = 'prompt=consent'
    else throw new Error(`${url} answered ${answer.status} ${text.slice(0, 300)}`)
  }
  throw new Error('the provider leads nowhere')
}
