import { afterAll, beforeAll, expect, mock, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import ts from 'typescript-5'
import { api, createOrganization, type Organization, PASSWORD, startApi, stopApi } from '../support/api'

// The generator prints with the compiler's API, which the native TypeScript does not have.
mock.module('typescript', () => ({ default: ts, ...ts }))
const { astToString, default: generate } = await import('openapi-typescript')

/** A client written from the document alone. Exports the functions that the test calls. */
const PROGRAM = `
import createClient from 'openapi-fetch'
import type { operations, paths } from './schema'

type Ticket = operations['listTickets']['responses'][200]['content']['application/json']['data'][number]

export async function work(baseUrl: string, email: string, password: string): Promise<Ticket[]> {
  const client = createClient<paths>({ baseUrl })
  const { data: tokens } = await client.POST('/api/v1/auth/login', { body: { email, password } })
  if (!tokens) throw new Error('not signed in')
  const headers = { authorization: 'Bearer ' + tokens.access_token }

  const contact = await client.POST('/api/v1/contacts', {
    headers,
    body: { name: 'Carla Customer', email: 'carla@customer.example' },
  })
  if (!contact.data) throw new Error(contact.error.error.message)

  const ticket = await client.POST('/api/v1/tickets', {
    headers,
    body: { subject: 'The printer is on fire', contact_id: contact.data.data.id, priority: 'urgent' },
  })
  if (!ticket.data) throw new Error(ticket.error.error.message)

  const list = await client.GET('/api/v1/tickets', { headers, params: { query: { status: 'open', per_page: 10 } } })
  if (!list.data) throw new Error(list.error.error.message)
  const total: number | undefined = list.data.meta.total
  if (total !== list.data.data.length) throw new Error('there are more tickets')
  return list.data.data
}

export async function codeOfUnknownTicket(baseUrl: string, token: string): Promise<'TICKET_NOT_FOUND' | undefined> {
  const client = createClient<paths>({ baseUrl, headers: { authorization: 'Bearer ' + token } })
  const { error, response } = await client.GET('/api/v1/tickets/{ticket_id}', {
    params: { path: { ticket_id: '00000000-0000-7000-8000-000000000000' } },
  })
  if (response.status !== 404) throw new Error('it is there')
  return error?.error.code === 'TICKET_NOT_FOUND' ? error.error.code : undefined
}
`

const TYPE_CHECK = {
  compilerOptions: {
    ...{ target: 'ESNext', module: 'Preserve', moduleResolution: 'bundler', lib: ['ESNext', 'DOM'], types: [] },
    ...{ strict: true, noEmit: true, noUncheckedIndexedAccess: true },
  },
}

/** The wrong part of each wrong client, and the words of the compiler about it. */
const WRONG = [
  ["priority: 'urgent'", "priority: 'asap'", '\'"asap"\' is not assignable'],
  ["subject: 'The printer is on fire', ", '', "'subject' is missing"],
  ["status: 'open', per_page", 'status: "lost", per_page', '\'"lost"\' is not assignable'],
  ['data.meta.total', 'data.meta.sum', "'sum' does not exist"],
  ["code === 'TICKET_NOT_FOUND'", "code === 'LABEL_NOT_FOUND'", 'have no overlap'],
] as const

type Client = {
  work(url: string, email: string, password: string): Promise<Record<string, unknown>[]>
  codeOfUnknownTicket(url: string, token: string): Promise<string | undefined>
}

let dir: string
let faults: string[]
let organization: Organization

beforeAll(async () => {
  await startApi()
  organization = await createOrganization()
  const document = await api().handle(new Request('http://localhost/swagger/json'))
  dir = writeClients(astToString(await generate(await document.text())))
  faults = faultsOf(dir)
})
afterAll(stopApi)

test('a client made from the document compiles and does the work', async () => {
  expect(faults.filter((fault) => !fault.startsWith('wrong-'))).toEqual([])

  const { work, codeOfUnknownTicket } = (await import(path.join(dir, 'client.ts'))) as Client
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: (request) => api().handle(request) })
  try {
    const { email, token } = organization.agent
    const tickets = await work(server.url.origin, email, PASSWORD)
    expect(tickets).toEqual([
      expect.objectContaining({
        subject: 'The printer is on fire',
        priority: 'urgent',
        status: 'open',
        contact: expect.objectContaining({ email: 'carla@customer.example' }),
      }),
    ])
    expect(await codeOfUnknownTicket(server.url.origin, token)).toBe('TICKET_NOT_FOUND')
  } finally {
    await server.stop(true)
  }
})

test.each(WRONG.map(([right, wrong, fault], n) => [right, wrong, fault, n] as const))(
  'a client with %p made %p does not compile',
  (right, _, fault, n) => {
    expect(PROGRAM).toContain(right)
    expect(faults.filter((one) => one.startsWith(`wrong-${n}.ts`)).join()).toContain(fault)
  },
)

/**
 * A folder with the client, ready to be imported, and with the wrong ones: the compiler reads the long types once for
 * all.
 */
function writeClients(schema: string): string {
  const dir = mkdtempSync(path.join(tmpdir(), 'openapi-client-'))
  symlinkSync(path.join(import.meta.dir, '../../node_modules'), path.join(dir, 'node_modules'))
  const files = {
    'schema.ts': schema,
    'client.ts': PROGRAM,
    ...Object.fromEntries(WRONG.map(([right, wrong], n) => [`wrong-${n}.ts`, PROGRAM.replace(right, wrong)])),
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(dir, name), text)
  writeFileSync(path.join(dir, 'tsconfig.json'), JSON.stringify({ ...TYPE_CHECK, files: Object.keys(files) }))
  return dir
}

/** Errors of the compiler, each with its further lines. */
function faultsOf(dir: string): string[] {
  const compiler = path.join(import.meta.dir, '../../node_modules/typescript/bin/tsc')
  const { stdout, stderr } = spawnSync(process.execPath, [compiler, '--project', dir], { cwd: dir, encoding: 'utf8' })
  return (stdout + stderr).split(/^(?=\S)/m).filter(Boolean)
}
