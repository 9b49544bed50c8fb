/** Connection URLs as libpq reads them, against real servers: one with TLS, one that only reads, and none. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { ConnectionUrlError, readConnectionUrl } from '../../../src/base/db/connection-url'
import { NO_LIMITS, openClient } from '../../../src/base/db/driver-client'
import { issueCertificate } from '../../support/certificates'
import { createDatabase, type TestDatabase } from '../../support/database'
import { withParameters } from '../../support/on-server'
import { type OwnPostgres, startOwnPostgres } from '../../support/own-postgres'
import { freePort } from '../../support/ports'

let dir: string
let server: OwnPostgres
let plain: TestDatabase
let ca: string
let other_ca: string
let user: string
let port: string
let closed: number

beforeAll(async () => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'connection-url-'))
  fs.chmodSync(dir, 0o711)
  // A certificate for localhost alone, so that the address is a wrong name.
  const { cert, key, ca_file } = await issueCertificate(['localhost'])
  ca = ca_file
  other_ca = path.join(dir, 'other.pem')
  fs.writeFileSync(other_ca, (await otherAuthority()).cert)
  server = await startOwnPostgres(path.join(dir, 'server'), {})
  const { username, password, port: own_port } = new URL(server.url)
  user = `${username}:${password}`
  port = own_port
  const files = path.join(dir, 'server/postgres/data')
  const { uid, gid } = fs.statSync(files)
  for (const [name, text] of Object.entries({ 'server.crt': cert, 'server.key': key })) {
    fs.writeFileSync(path.join(files, name), text, { mode: 0o600 })
    fs.chownSync(path.join(files, name), uid, gid)
  }
  const owner = openClient(server.url, 1, NO_LIMITS)
  await owner`alter system set ssl = on`
  await owner`select pg_reload_conf()`
  await owner.end()
  plain = await createDatabase()
  closed = await freePort()
})
afterAll(async () => {
  await server.stop()
  await plain.drop()
  fs.rmSync(dir, { recursive: true, force: true })
})

async function otherAuthority() {
  const { generate } = await import('selfsigned')
  return generate([{ name: 'commonName', value: 'somebody' }])
}

/** Connects once. @returns if it is encrypted, or the code of the error */
async function connect(url: string): Promise<boolean | string> {
  const client = openClient(url, 1, NO_LIMITS)
  try {
    const [session] = await client<{ ssl: boolean }[]>`select ssl from pg_stat_ssl where pid = pg_backend_pid()`
    return session!.ssl
  } catch (error) {
    return String((error as { code?: unknown }).code)
  } finally {
    await client.end({ timeout: 1 })
  }
}

test('encryption and its checks follow sslmode and sslrootcert', async () => {
  const to = (host: string, parameters: string) => connect(`postgres://${user}@${host}:${port}/deskwire?${parameters}`)
  expect({
    none: await to('localhost', ''),
    disable: await to('localhost', 'sslmode=disable'),
    prefer: await to('localhost', 'sslmode=prefer'),
    require: await to('127.0.0.1', 'sslmode=require'),
    'require with a root': await to('127.0.0.1', `sslmode=require&sslrootcert=${ca}`),
    'require with another root': await to('localhost', `sslmode=require&sslrootcert=${other_ca}`),
    'verify-ca': await to('127.0.0.1', `sslmode=verify-ca&sslrootcert=${ca}`),
    'verify-ca with another root': await to('127.0.0.1', `sslmode=verify-ca&sslrootcert=${other_ca}`),
    'verify-full': await to('localhost', `sslmode=verify-full&sslrootcert=${ca}`),
    'verify-full of another name': await to('127.0.0.1', `sslmode=verify-full&sslrootcert=${ca}`),
    'verify-full with public roots': await to('localhost', 'sslmode=verify-full'),
    'a root alone': await to('127.0.0.1', `sslrootcert=${ca}`),
  }).toEqual({
    none: false,
    disable: false,
    prefer: true,
    require: true,
    'require with a root': true,
    'require with another root': expect.stringMatching(/VERIFY|CERT/),
    'verify-ca': true,
    'verify-ca with another root': expect.stringMatching(/VERIFY|CERT/),
    'verify-full': true,
    'verify-full of another name': 'ERR_TLS_CERT_ALTNAME_INVALID',
    'verify-full with public roots': expect.stringMatching(/VERIFY|CERT/),
    'a root alone': 'ERR_TLS_CERT_ALTNAME_INVALID',
  })
})

test('a server without TLS is refused when it is required, and taken when it is preferred', async () => {
  expect(await connect(withParameters(plain.url, 'sslmode=require'))).toBe('SSL_NOT_SUPPORTED')
  expect(await connect(withParameters(plain.url, 'sslmode=prefer'))).toBe(false)
})

test('of several hosts the first that works is taken, and none is an error at once', async () => {
  const url = new URL(plain.url)
  const hosts = (list: string) => `postgres://${url.username}:${url.password}@${list}${url.pathname}`
  expect(await connect(hosts(`127.0.0.1:${closed},${url.host}`))).toBe(false)
  expect(await connect(hosts(`${url.host},127.0.0.1:${closed}`))).toBe(false)
  expect(await connect(hosts(`127.0.0.1:${closed},127.0.0.1:${closed}`))).toBe('ECONNREFUSED')
})

test('a server that only reads is passed over when changes are asked for', async () => {
  const owner = openClient(server.url, 1, NO_LIMITS)
  await owner`alter database deskwire set default_transaction_read_only = on`
  await owner.end()
  const only = `postgres://${user}@127.0.0.1:${port}/deskwire`
  expect(await connect(`${only}?target_session_attrs=read-write`)).toBe('CONNECTION_DESTROYED')
  expect(await connect(`${only}?target_session_attrs=read-only`)).toBe(false)
})

test('sessions have their settings, and those of the URL come before them', async () => {
  const settings = async (parameters: string) => {
    const client = openClient(withParameters(plain.url, parameters), 1, {
      statement_ms: 30_000,
      idle_in_transaction_ms: 0,
      lock_ms: 0,
    })
    const [row] = await client`
      select current_setting('jit') as jit, current_setting('statement_timeout') as statement,
        current_setting('idle_in_transaction_session_timeout') as idle, current_setting('application_name') as name`
    await client.end()
    return row
  }
  expect(await settings('')).toEqual({ jit: 'off', statement: '30s', idle: '0', name: 'deskwire' })
  expect(await settings('statement_timeout=60000&jit=on&application_name=desk&channel_binding=prefer')).toEqual({
    jit: 'on',
    statement: '1min',
    idle: '0',
    name: 'desk',
  })
})

test('each part of a URL is read', () => {
  expect(readConnectionUrl('postgres://a%40b:p%2Fw@db1,db2:5433,[::1]:5434/desk?pgbouncer=true')).toMatchObject({
    host: ['db1', 'db2', '::1'],
    port: [5432, 5433, 5434],
    user: 'a@b',
    password: 'p/w',
    database: 'desk',
    prepare: false,
    ssl: false,
    connection: {},
  })
  expect(readConnectionUrl('postgres:///desk?host=/run/postgresql&port=5433')).toMatchObject({
    path: '/run/postgresql/.s.PGSQL.5433',
    database: 'desk',
  })
})

test.each([
  ['postgres://secret@db/desk?sslmode=always', 'holds sslmode=always, which is none of disable, allow'],
  ['postgres://secret@db/desk?target_session_attrs=best', 'holds target_session_attrs=best, which is none of any'],
  [
    'postgres://secret@db/desk?sslmode=verify-ca&sslrootcert=/nowhere',
    'names /nowhere as sslrootcert, which cannot be read',
  ],
  ['postgres://secret@db:x/desk', 'holds a host that is none'],
])('%s is refused', (url, message) => {
  expect(() => readConnectionUrl(url)).toThrow(ConnectionUrlError)
  expect(() => readConnectionUrl(url)).toThrow(message)
  expect(() => readConnectionUrl(url)).not.toThrow('secret')
})
