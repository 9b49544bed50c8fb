/** Access tokens among processes of which some have a clock that is an hour off: what one gives, all take. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { decodeJwt, SignJWT } from 'jose'
import { keysOf, useSecrets } from '../../../src/base/secrets'
import { createDatabase, type TestDatabase } from '../../support/database'
import { WHY_NO_FAKETIME, wrongClock } from '../../support/faketime'
import { ADMIN, type Service, startService } from '../../support/service'

const HOUR_S = 3600
const SECRET_KEY = 'a secret key that only tests use'
const CLOCKS = { right: {}, ahead: wrongClock(`+${HOUR_S}`), behind: wrongClock(`-${HOUR_S}`) }

if (WHY_NO_FAKETIME) console.warn(`Tokens of wrong clocks are not tried: ${WHY_NO_FAKETIME}`)
const check = test.skipIf(Boolean(WHY_NO_FAKETIME))

let database: TestDatabase
let folder: string
let services: [string, Service][] = []

beforeAll(async () => {
  if (WHY_NO_FAKETIME) return
  database = await createDatabase()
  folder = mkdtempSync(path.join(tmpdir(), 'wrong-clock-'))
  // The first one makes the admin.
  for (const [name, clock] of Object.entries(CLOCKS)) {
    const own = { DATA_DIR: path.join(folder, name), DATABASE_URL: database.url }
    services.push([name, await startService({ ...own, SECRET_KEY, ...clock })])
  }
})
afterAll(async () => {
  await Promise.all(services.map(([, service]) => service.stop()))
  services = []
  await database?.drop()
  if (folder) rmSync(folder, { recursive: true, force: true })
})

/** Asks each process with a token. @returns statuses, and codes of errors */
function askAll(token: string): Promise<unknown[]> {
  return Promise.all(
    services.map(async ([name, { url }]) => {
      const answer = await fetch(`${url}/api/v1/labels`, { headers: { authorization: `Bearer ${token}` } })
      return [name, answer.status, ((await answer.json()) as { error?: { code: string } }).error?.code]
    }),
  )
}

const each = (status: number, code?: string) => Object.keys(CLOCKS).map((name) => [name, status, code])

check('a token of each process is good at all of them, and names the same time', async () => {
  for (const [name, { url }] of services) {
    const answer = await fetch(`${url}/api/v1/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(ADMIN),
    })
    const { access_token } = (await answer.json()) as { access_token: string }
    const { iat, exp, issued_s } = decodeJwt<{ issued_s?: number }>(access_token)
    expect(await askAll(access_token)).toEqual(each(200))
    expect(Math.abs(exp! - 900 - Date.now() / 1000)).toBeLessThan(60)
    expect({ name, issued_s }).toEqual({ name, issued_s: name === 'right' ? undefined : exp! - 900 })
    expect([name, `${Math.round((iat! - Date.now() / 1000) / HOUR_S)}`]).toEqual([name, HOURS_OFF[name]!])
  }
})

const HOURS_OFF: Record<string, string> = { right: '0', ahead: '1', behind: '-1' }

check('all processes agree which tokens are too old, and which are from the future', async () => {
  const [[, right]] = services as [[string, Service]]
  await right.call('GET', '/labels')
  useSecrets(SECRET_KEY)
  const { iat, exp, ...claims } = decodeJwt(right.token())
  const key = new TextEncoder().encode(keysOf('access-token')[0]!.toString('hex'))
  const signed = (age_s: number, more: object = {}) =>
    new SignJWT({ ...claims, iat: iat! - age_s, exp: exp! - age_s, ...more })
      .setProtectedHeader({ alg: 'HS256' })
      .sign(key)
  expect(await askAll(await signed(0))).toEqual(each(200))
  expect(await askAll(await signed(HOUR_S))).toEqual(each(401, 'TOKEN_EXPIRED'))
  expect(await askAll(await signed(-HOUR_S))).toEqual(each(401, 'INVALID_TOKEN'))
  expect(await askAll(await signed(-HOUR_S, { issued_s: iat, exp }))).toEqual(each(200))
  expect(await askAll(await signed(0, { issued_s: iat! - HOUR_S }))).toEqual(each(401, 'TOKEN_EXPIRED'))
})
