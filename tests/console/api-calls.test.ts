/**
 * How the page calls the API when its access token has expired: the real code of the page, with a service that is a
 * stand-in.
 */
import { afterAll, beforeEach, expect, test } from 'bun:test'
import { Api, Refusal } from '../../src/console/page/api'
import { signIn, signInWith, signOut } from '../../src/console/page/sign-in'
import { until } from '../support/service'

let token = 'first'
let refreshes: Response[] = []
let posted: string[] = []

const service = Bun.serve({
  port: 0,
  async fetch(request) {
    const { pathname } = new URL(request.url)
    const by = request.headers.get('authorization')
    if (pathname.endsWith('/auth/login')) {
      const { email } = (await request.json()) as { email: string }
      token = email
      return Response.json({ access_token: token, refresh_token: 'refresh' })
    }
    if (pathname.endsWith('/auth/me')) return Response.json({ id: token, email: token, name: token, organizations: [] })
    if (pathname.endsWith('/auth/refresh')) return refreshes.shift() ?? Response.json({ access_token: token })
    if (pathname.endsWith('/auth/logout')) return new Response(null, { status: 204 })
    if (by !== `Bearer ${token}`) return new Response(null, { status: 401 })
    posted.push(token)
    return Response.json({ data: 'found' })
  },
})

// A page has an address that others are relative to, a program has not.
const { fetch } = globalThis
/** The tab has no storage here: nothing loads the page again. */
globalThis.sessionStorage = { setItem() {}, removeItem() {} } as unknown as Storage
globalThis.fetch = ((path: string, init?: RequestInit) => fetch(new URL(path, service.url), init)) as typeof fetch

beforeEach(async () => {
  refreshes = []
  posted = []
  expect(await signInWith('ann', 'password')).toBeUndefined()
})
afterAll(async () => {
  await signOut()
  globalThis.fetch = fetch
  await service.stop(true)
})

test('a service that cannot give a token at once is asked again', async () => {
  token = 'ann, later'
  refreshes = [new Response(null, { status: 503 }), new Response(null, { status: 503 })]
  expect(await new Api('desk').get('/tickets')).toMatchObject({ status: 200, data: 'found' })
})

test.each(['ann', 'bob'])(
  'a request whose session has ended goes on for the same person alone: %s signs in',
  async (who) => {
    token = 'none'
    refreshes = [new Response(null, { status: 401 })]
    const sent = new Api('desk').post('/messages', {}).catch((error: unknown) => error)
    await until('the session has ended', () => signIn.value.state === 'ended')
    if (who === 'bob') await signOut()
    await signInWith(who, 'password')
    if (who === 'ann') expect(await sent).toMatchObject({ status: 200 })
    else expect(await sent).toBeInstanceOf(Refusal)
    expect(posted).toEqual(who === 'ann' ? ['ann'] : [])
  },
)
