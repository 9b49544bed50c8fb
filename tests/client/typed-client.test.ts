/** The client at `/client.ts`, and the program of the guide that uses it, as it stands there. */
import { afterAll, beforeAll, describe, expect, mock, spyOn, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import ts from 'typescript-5'
import { version } from '../../package.json'
import { api, createOrganization, type Organization, startApi, stopApi } from '../support/api'
import { createProgram, type Program } from '../support/api-keys'
import { insertTicket } from '../support/factories'
import { type ChangedSettings, withSettings } from '../support/settings'
import { createWebhook, deliverDue, startTrustedReceiver } from '../support/webhooks'

// The generator prints with the compiler's API, which the native TypeScript does not have.
mock.module('typescript', () => ({ default: ts, ...ts }))
const { astToString, default: generate } = await import('openapi-typescript')

const ROOT = path.join(import.meta.dir, '../..')
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

const TYPE_CHECK = {
  compilerOptions: {
    ...{ target: 'ESNext', module: 'Preserve', moduleResolution: 'bundler', lib: ['ESNext', 'DOM', 'DOM.Iterable'] },
    ...{ types: ['bun-types'], strict: true, noEmit: true, noUncheckedIndexedAccess: true, skipLibCheck: true },
  },
  include: ['*.ts'],
}

/** Files are text for openapi-typescript, and the headers of answers have no types here. */
const SAME = `
import type { paths, Schemas, Webhooks } from './deskwire'
import type { components, paths as theirs, webhooks } from './schema'

type Plain<T> = T extends Blob ? string
  : T extends object ? { [Name in keyof T as Name extends 'headers' ? never : Name]: Plain<T[Name]> } : T
type Same<A, B> = [Plain<A>, Plain<B>] extends [Plain<B>, Plain<A>] ? true : false
`

type Document = {
  paths: Record<string, Record<string, { parameters: { in?: string }[]; requestBody?: object }>>
  webhooks: object
  components: { schemas: object }
}
type Handler = (request: Request) => Response | Promise<Response>

let dir: string
let served: Response
let text: string
let settings: ChangedSettings
let organization: Organization
let program: Program
let server: Bun.Server<undefined>
/** Stands before the API: tests put what a network and a busy service do in its place. */
let handle: Handler
const pass: Handler = (request) => api().handle(request)

beforeAll(async () => {
  await startApi()
  settings = withSettings({ SWAGGER: 'on' })
  organization = await createOrganization()
  program = await createProgram(organization.admin, ['tickets:write', 'contacts:write', 'labels:read'])
  handle = pass
  server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: (request) => handle(request) })
  dir = mkdtempSync(path.join(tmpdir(), 'deskwire-client-'))
  served = await fetch(new URL('/client.ts', server.url))
  text = await served.text()
  writeFileSync(path.join(dir, 'deskwire.ts'), text)
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(dir, 'node_modules'))
  writeFileSync(path.join(dir, 'tsconfig.json'), JSON.stringify(TYPE_CHECK))
  writeFileSync(path.join(dir, 'program.ts'), programOfGuide())
  writeFileSync(path.join(dir, 'copy.ts'), programOfGuide('### Keep a copy in your own database'))
  process.env.DESKWIRE_URL = server.url.origin
  process.env.DESKWIRE_KEY = program.key
  process.env.DESKWIRE_WEBHOOK_SECRET = SECRET
})
afterAll(async () => {
  settings.restore()
  await server.stop(true)
  await stopApi()
  rmSync(dir, { recursive: true })
})

/** The code of a section of the guide. */
function programOfGuide(heading = '## A client in TypeScript'): string {
  const guide = readFileSync(path.join(ROOT, 'src/guide/api.md'), 'utf8')
  const section = guide.slice(guide.indexOf(heading))
  return /```ts\n([\s\S]*?)```/.exec(section)![1]!
}

function faultsOf(): string {
  const compiler = path.join(ROOT, 'node_modules/typescript/bin/tsc')
  const { stdout, stderr } = spawnSync(process.execPath, [compiler, '--project', dir], { encoding: 'utf8' })
  return stdout + stderr
}

// biome-ignore lint/suspicious/noExplicitAny: made by the generator, compiled by the tests
async function client(): Promise<any> {
  return import(path.join(dir, 'deskwire.ts'))
}

describe('the file', () => {
  test('is open to all, says how it may be used and what it needs, and is no other after the first time', async () => {
    expect([served.status, served.headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8'])
    expect(served.headers.get('x-content-type-options')).toBe('nosniff')
    expect(text).toContain(`A client of the API of Deskwire ${version} `)
    expect(text).toContain('SPDX-License-Identifier: MIT')
    expect(text.match(/^import .*/gm)).toEqual(["import createClient from 'openapi-fetch'"])
    expect(await (await fetch(new URL('/client.ts', server.url))).text()).toBe(text)
  })

  test('has the types that openapi-typescript makes of each object, operation and webhook', async () => {
    const document = await (await fetch(new URL('/swagger/json', server.url))).text()
    const { paths, webhooks, components } = JSON.parse(document) as Document
    writeFileSync(path.join(dir, 'schema.ts'), astToString(await generate(document)))
    const quoted = (some: object) => Object.keys(some).map((name) => JSON.stringify(name))
    const pairs = [
      ...quoted(components.schemas).map((name) => [`Schemas[${name}]`, `components['schemas'][${name}]`]),
      ...quoted(webhooks).map((name) => [
        `Webhooks[${name}]`,
        `webhooks[${name}]['post']['requestBody']['content']['application/json']`,
      ]),
      ...Object.entries(paths).flatMap(([at, methods]) =>
        Object.entries(methods).flatMap(([method, { parameters, requestBody }]) => {
          const places = new Set(parameters.map((one) => one.in ?? 'header'))
          const parts = [
            ...[...places].map((place) => `['parameters']['${place}']`),
            ...(requestBody && !JSON.stringify(requestBody).includes('"binary"') ? [`['requestBody']`] : []),
            `['responses']`,
          ]
          return parts.map((part) => [`paths['${at}']['${method}']${part}`, `theirs['${at}']['${method}']${part}`])
        }),
      ),
    ]
    expect(pairs.length).toBeGreaterThan(600)
    const lines = pairs.map(([ours, theirs], n) => `export const same${n}: Same<${ours}, ${theirs}> = true`)
    writeFileSync(path.join(dir, 'same.ts'), `${SAME}${lines.join('\n')}\n`)
    expect(faultsOf()).toBe('')
  })
})

describe('the program of the guide', () => {
  test('compiles, and a wrong field of it does not', () => {
    expect(faultsOf()).toBe('')
    const file = path.join(dir, 'program.ts')
    const right = programOfGuide()
    for (const [good, bad] of [
      ["name: 'Carla', ", ''],
      ['per_page: 100', "per_page: 'many'"],
      ['data.data.code', 'data.data.number'],
      ["'/api/v1/contacts'", "'/api/v1/contact'"],
      ["'ticket.deleted'", "'test.ping'"],
    ]) {
      expect(right).toContain(good!)
      writeFileSync(file, right.replace(good!, bad!))
      expect(faultsOf()).toContain('program.ts')
    }
    writeFileSync(file, right)
  })

  test('runs: it writes once although the service is busy and connections break, walks all pages, and takes webhooks', async () => {
    for (let count = 0; count < 130; count++) await insertTicket(organization.scope)
    const asked: string[] = []
    handle = async (request) => {
      const turn = asked.push(`${request.method} ${new URL(request.url).pathname.slice('/api/v1'.length)}`)
      if (turn === 1) return new Response(null, { status: 429, headers: { 'retry-after': '0' } })
      if (turn === 3) {
        // The work is done, and its answer is lost.
        await pass(request)
        return new Response(null, { status: 503, headers: { 'retry-after': '0' } })
      }
      return pass(request)
    }
    const said: string[] = []
    const spy = spyOn(console, 'log').mockImplementation((...words) => void said.push(words.join(' ')))
    try {
      const { receive } = await import(path.join(dir, 'program.ts'))
      expect(asked).toEqual([
        ...['POST /contacts', 'POST /contacts', 'POST /tickets', 'POST /tickets'],
        ...['GET /tickets', 'GET /tickets'],
      ])
      expect(said).toEqual(['created TKT-131', 'open TKT-131', 'open TKT-130', 'open TKT-129', '131 open tickets'])

      using receiver = await startTrustedReceiver()
      const events = ['ticket.created']
      await createWebhook(organization.admin, { url: receiver.url, events, secret: SECRET })
      const contact = (await organization.admin.get('/contacts?per_page=1')).body.data[0]
      await program.post('/tickets', { subject: 'Told', contact_id: contact.id })
      await deliverDue()
      const { headers, body } = receiver.requests[0]!
      const statusFor = async (body: BodyInit) => {
        const request = new Request('http://localhost/', { method: 'POST', headers, body })
        return (await receive(request)).status
      }
      expect(await statusFor(new Uint8Array(body))).toBe(204)
      expect(said.at(-1)).toBe('ticket.created TKT-132')
      expect(await statusFor(`${new TextDecoder().decode(body)} `)).toBe(401)
    } finally {
      spy.mockRestore()
    }
  })
})

describe('the client', () => {
  test('sends a request again with the same body and idempotency key, after as long as it was asked to wait', async () => {
    const { createDeskwire } = await client()
    const sent: [string | null, string][] = []
    handle = async (request) => {
      sent.push([request.headers.get('idempotency-key'), await request.text()])
      if (sent.length === 1) return new Response(null, { status: 503 })
      if (sent.length === 2) return new Response(null, { status: 429, headers: { 'retry-after': '0' } })
      return Response.json({ data: {} }, { status: 201 })
    }
    const api = createDeskwire({ url: server.url.origin, key: 'dk_x' })
    const { response } = await api.POST('/api/v1/labels', { body: { name: 'VIP', color: '#112233' } })
    expect(response.status).toBe(201)
    expect(sent).toHaveLength(3)
    expect(new Set(sent.map((one) => one.join())).size).toBe(1)
    expect(sent[0]).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/), '{"name":"VIP","color":"#112233"}'])
  })

  test('gives up after its attempts, and does not repeat what will not pass', async () => {
    const { createDeskwire } = await client()
    let asked = 0
    handle = () => {
      asked++
      return Response.json({ error: { code: 'X' } }, { status: 429, headers: { 'retry-after': '0' } })
    }
    const api = createDeskwire({ url: server.url.origin, key: 'dk_x', attempts: 3 })
    expect((await api.GET('/api/v1/labels')).response.status).toBe(429)
    expect(asked).toBe(3)
    handle = () => {
      asked++
      return Response.json({ error: { code: 'X' } }, { status: 422 })
    }
    expect((await api.POST('/api/v1/labels', { body: {} })).response.status).toBe(422)
    expect(asked).toBe(4)
    const nobody = createDeskwire({ url: 'http://127.0.0.1:1', key: 'dk_x', attempts: 2 })
    expect(nobody.GET('/api/v1/labels')).rejects.toThrow()
  })

  test('tells the faults of fields, and has none for an answer that is no error of the service', async () => {
    const { createDeskwire, DeskwireError } = await client()
    handle = pass
    const api = createDeskwire({ url: server.url.origin, key: program.key })
    const { error } = await api.POST('/api/v1/contacts', { body: { name: 'Carla', email: 'carla' } })
    const thrown = new DeskwireError(error)
    expect(thrown.code).toBe('INVALID_EMAIL')
    expect(thrown.faults).toEqual([{ path: '/email', message: 'The email address is not valid' }])
    expect(thrown.message).toEndWith(': /email The email address is not valid')
    for (const answer of [
      undefined,
      null,
      'x',
      {},
      { error: { code: 'X', message: 'Y' } },
      { error: { details: { errors: 1 } } },
    ]) {
      expect(new DeskwireError(answer).faults).toEqual([])
    }
    expect(new DeskwireError({ error: { message: 'Y', details: { errors: [null, {}, 'x'] } } }).message).toBe('Y')
  })

  test('ends a walk with the error of a page, and at an empty page', async () => {
    const { createDeskwire, walk } = await client()
    handle = pass
    const api = createDeskwire({ url: server.url.origin, key: program.key })
    const read = (cursor?: string) => api.GET('/api/v1/companies', { params: { query: { cursor } } })
    await expect(walk(read).next()).rejects.toMatchObject({
      name: 'DeskwireError',
      code: 'FORBIDDEN',
      details: { required: 'companies:read' },
    })
    const pages = [
      { data: { data: [1, 2], meta: { next_cursor: 'a' } } },
      { data: { data: [], meta: { next_cursor: 'a' } } },
    ]
    const seen = []
    for await (const one of walk(async () => pages.shift()!)) seen.push(one)
    expect(seen).toEqual([1, 2])
  })

  test.each([
    ['an old request', { 'webhook-timestamp': '1' }],
    ['another id', { 'webhook-id': 'other' }],
    ['no signature', { 'webhook-signature': '' }],
    ['a signature that is no base64', { 'webhook-signature': 'v1,%%%' }],
    ['another version', { 'webhook-signature': 'v2,AAAA' }],
  ])('takes no webhook with %s', async (_, wrong) => {
    const { isFromDeskwire } = await client()
    const headers = new Headers(signed('body'))
    expect(await isFromDeskwire(headers, 'body', SECRET)).toBe(true)
    for (const [name, value] of Object.entries(wrong)) headers.set(name, value)
    expect(await isFromDeskwire(headers, 'body', SECRET)).toBe(false)
    expect(await isFromDeskwire(new Headers(signed('body')), 'body', 'another secret')).toBe(false)
  })
})

/** Headers of Standard Webhooks, made without the product. */
function signed(body: string): Record<string, string> {
  const [id, time] = ['a', String(Math.floor(Date.now() / 1000))]
  const hmac = new Bun.CryptoHasher('sha256', Buffer.from(SECRET.slice(6), 'base64'))
  const signature = `v1,${hmac.update(`${id}.${time}.${body}`).digest('base64')}`
  return { 'webhook-id': id!, 'webhook-timestamp': time!, 'webhook-signature': signature }
}
