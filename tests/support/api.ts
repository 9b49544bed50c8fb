/** The API as a client sees it, over `app.handle`: real validation, authentication and database, no socket. */
import { expect } from 'bun:test'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createApp } from '../../src/app'
import { addressKey } from '../../src/base/address/email'
import { newId } from '../../src/base/db/columns'
import { closeDatabase, connectDatabase, connection, connectionOf } from '../../src/base/db/pool'
import type { Scope } from '../../src/base/scope'
import { useSecrets } from '../../src/base/secrets'
import { signAccessToken } from '../../src/http/admission/tokens'
import { beginSession } from '../../src/people/auth/sessions'
import { WHY_NO_CLUSTER } from './cluster'
import { createDatabase, type TestDatabase } from './database'
import { answerChecker, type Document, eventChecker } from './openapi'
import { closePoliced, policedOptions } from './policed'

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
export type Answer = { status: number; headers: Headers; body: any; text: string }

export type Client = {
  get(path: string, headers?: Record<string, string>): Promise<Answer>
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
  patch(path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
  put(path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
  delete(path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
  /** Any request; a string or bytes as body are sent as they are. */
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
  user_id: string
  email: string
  token: string
}

export type Organization = {
  id: string
  admin: Client
  agent: Client
  /** For calling commands and queries directly, as the admin. */
  scope: Scope
  /** One more signed-in member. */
  addMember(role: 'admin' | 'agent', name?: string): Promise<Client>
}

/** Made once for the files that share a worker: routes are compiled when they are first asked for. */
let app: ReturnType<typeof createApp>
let drop: () => Promise<void>
let connect: () => void

/** A fresh migrated database and the app on it. In `beforeAll`; `stopApi` in `afterAll`. */
export async function startApi(pool_size = 10): Promise<TestDatabase> {
  const database = await createDatabase()
  drop = database.drop
  useSecrets('a secret key that only tests use')
  // A busy machine needs longer for those who wait before.
  const options = { places: { wait_ms: 60_000 }, is_cluster: !WHY_NO_CLUSTER, ...policedOptions(database.url) }
  connect = () => connectDatabase(database.target, pool_size, options)
  connect()
  app ??= createApp(async () => true)
  return database
}

export async function stopApi(): Promise<void> {
  await closePoliced()
  await closeDatabase(1)
  await drop()
}

/**
 * Does work that opens the database itself, as a command does, while the API is not connected. A scope of before has
 * lost its connection.
 */
export async function disconnected<T>(work: () => Promise<T>): Promise<T> {
  await closeDatabase(1)
  try {
    return await work()
  } finally {
    connect()
  }
}

/** The app that handles requests: for tests that need a real listener (`Bun.serve({ fetch: api().fetch })`). */
export function api(): { handle(request: Request): Promise<Response> } {
  return app
}

let check_answer: Promise<ReturnType<typeof answerChecker>> | undefined

/** Requests at the same time share it: two that make the document would take its file away from each other. */
function checker() {
  check_answer ??= document().then(answerChecker)
  return check_answer
}

let check_event: Promise<ReturnType<typeof eventChecker>> | undefined

/** A check of events that tests read: the document declares each of their fields. */
export function checkEvent() {
  check_event ??= document().then(eventChecker)
  return check_event
}

/** In the folder of the run: a test may set TMPDIR to one of its own later. */
const kept = path.join(tmpdir(), 'openapi.json')

/** The document of the API is made by the first file of a run: it takes 50 ms, and is the same in all of them. */
async function document(): Promise<Document> {
  const text = await readFile(kept, 'utf8').catch(() => undefined)
  if (text !== undefined) return JSON.parse(text)
  const made = await (await app.handle(new Request('http://localhost/swagger/json'))).text()
  const own = `${kept}.${process.pid}`
  await writeFile(own, made)
  await rename(own, kept)
  return JSON.parse(made)
}

export const PASSWORD = 'correct horse battery staple'
const password_hash = await Bun.password.hash(PASSWORD)

/** A new organization with an admin and an agent who are signed in: tenancy isolates tests from each other. */
export async function createOrganization(name = 'Acme'): Promise<Organization> {
  const id = newId()
  const { sql } = connection()
  await sql`insert into organizations (id, name) values (${id}, ${name})`
  await sql`insert into ticket_counters (organization_id) values (${id})`
  const addMember = (role: 'admin' | 'agent', member = role === 'admin' ? 'Ada Admin' : 'Alan Agent') =>
    createMember(id, role, member)
  const admin = await addMember('admin')
  const agent = await addMember('agent')
  const actor = { type: 'user', id: admin.user_id, name: 'Ada Admin', email: admin.email, role: 'admin' } as const
  return { id, admin, agent, scope: { ...connectionOf(id), organization_id: id, actor }, addMember }
}

/** A client without a token, for what strangers may do. */
export function stranger(): Client {
  return clientOf('', '', '')
}

/** Signs in over HTTP. */
export async function signIn(email: string, password = PASSWORD): Promise<Client> {
  const answer = await stranger().post('/auth/login', { email, password })
  if (answer.status !== 200) throw new Error(`sign-in answered ${answer.status} ${answer.text}`)
  return clientOf(answer.body.access_token, answer.body.user.id, email)
}

async function createMember(organization_id: string, role: 'admin' | 'agent', name: string): Promise<Client> {
  const { sql } = connection()
  const user_id = newId()
  const email = `${role}.${user_id}@deskwire.example`
  await sql`
    insert into users (id, email, email_key, name, password_hash)
    values (${user_id}, ${email}, ${addressKey(email)}, ${name}, ${password_hash})`
  await sql`insert into memberships (organization_id, user_id, role) values (${organization_id}, ${user_id}, ${role})`
  const { session_id } = await beginSession(connection(), user_id, { ip: '127.0.0.1', user_agent: null })
  const token = await signAccessToken({ sub: user_id, email, org_id: organization_id, role }, session_id)
  return clientOf(token, user_id, email)
}

/** A program with an API key. */
export function clientWithKey(key: string): Client {
  return clientOf(key, '', '', 'ApiKey')
}

/** A customer with a token. */
export function clientWithToken(token: string): Client {
  return clientOf(token, '', '')
}

function clientOf(token: string, user_id: string, email: string, scheme = 'Bearer'): Client {
  const send: Client['send'] = async (method, path, body, headers = {}) => {
    const raw = typeof body === 'string' || body instanceof Uint8Array || body instanceof FormData
    const request = new Request(`http://localhost/api/v1${path}`, {
      method,
      headers: {
        ...(token && { authorization: `${scheme} ${token}` }),
        ...(body !== undefined && !(body instanceof FormData) && { 'content-type': 'application/json' }),
        ...headers,
      },
      body: body === undefined ? undefined : raw ? (body as string) : JSON.stringify(body),
    })
    const response = await app.handle(request)
    const text = await response.text()
    const check = await checker()
    check(method, `/api/v1${path}`, { status: response.status, headers: response.headers, text })
    const is_json = response.headers.get('content-type')?.includes('application/json')
    if (response.status === 500 && is_json) tellBroken(`${method} ${path}`, JSON.parse(text))
    return { status: response.status, headers: response.headers, body: is_json ? JSON.parse(text) : undefined, text }
  }
  return {
    send,
    get: (path, headers) => send('GET', path, undefined, headers),
    post: (path, body, headers) => send('POST', path, body, headers),
    patch: (path, body, headers) => send('PATCH', path, body, headers),
    put: (path, body, headers) => send('PUT', path, body, headers),
    delete: (path, body, headers) => send('DELETE', path, body, headers),
    user_id,
    email,
    token,
  }
}

/** @throws Error with the fields of an answer that its model does not allow: the answer itself is a bare 500 */
function tellBroken(what: string, body: { error: { details: { broken?: object[] } } }): void {
  const { broken } = body.error.details
  if (broken) throw new Error(`${what} was answered with what its model does not allow: ${JSON.stringify(broken)}`)
}

export function expectError(answer: Answer, status: number, code: string) {
  expect([answer.status, answer.body?.error.code]).toEqual([status, code])
}
