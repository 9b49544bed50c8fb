/**
 * Clients that generators make from the document of a running service: each compiles under `strict`, has types by name,
 * lists, creates, reads an error, and knows the body of a webhook.
 */
import { afterAll, beforeAll, describe, expect, mock, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import ts from 'typescript-5'
import { api, createOrganization, startApi, stopApi } from '../support/api'
import { createProgram } from '../support/api-keys'

// Two of the generators print with the compiler's API, which the native TypeScript does not have.
mock.module('typescript', () => ({ default: ts, ...ts }))

const ROOT = path.join(import.meta.dir, '../..')
const NOBODY = '00000000-0000-7000-8000-000000000000'

/** The same at the end of each program: fields of the body of a webhook have types. */
const RECEIVER = `
export function told(body: TicketStatusChangedEvent): string {
  const ticket: Ticket = body.data
  return ticket.code + ' was ' + body.data.previous_status
}
`

type Generator = {
  name: string
  /** Writes the client into a folder, from the document at a URL. */
  generate(url: string, dir: string): Promise<unknown>
  program: string
  /** Wrong parts of wrong programs, and the words of the compiler about them. */
  wrong: [right: string, wrong: string, fault: string][]
}

const GENERATORS: Generator[] = [
  {
    name: 'openapi-typescript',
    async generate(url, dir) {
      const { astToString, default: generate } = await import('openapi-typescript')
      const types = await generate(new URL(url), { rootTypes: true, rootTypesNoSchemaPrefix: true })
      writeFileSync(path.join(dir, 'schema.ts'), astToString(types))
    },
    program: `
import createClient from 'openapi-fetch'
import type { paths, Ticket, TicketStatusChangedEvent } from './schema'

export async function work(baseUrl: string, key: string): Promise<Ticket[]> {
  const client = createClient<paths>({ baseUrl, headers: { authorization: 'ApiKey ' + key } })
  const contact = await client.POST('/api/v1/contacts', {
    body: { name: 'Carla Customer', email: 'carla@customer.example' },
  })
  if (!contact.data) throw new Error(contact.error.error.message)

  const ticket = await client.POST('/api/v1/tickets', {
    body: { subject: 'The printer is on fire', contact_id: contact.data.data.id, priority: 'urgent' },
  })
  if (!ticket.data) throw new Error(ticket.error.error.message)

  const list = await client.GET('/api/v1/tickets', { params: { query: { status: 'open', sort: '-updated_at', per_page: 10 } } })
  if (!list.data) throw new Error(list.error.error.message)
  const total: number | undefined = list.data.meta.total
  if (total !== list.data.data.length) throw new Error('there are more tickets')
  return list.data.data
}

export async function codeOfUnknownTicket(baseUrl: string, key: string): Promise<'TICKET_NOT_FOUND' | undefined> {
  const client = createClient<paths>({ baseUrl, headers: { authorization: 'ApiKey ' + key } })
  const { error } = await client.GET('/api/v1/tickets/{ticket_id}', { params: { path: { ticket_id: '${NOBODY}' } } })
  return error?.error.code === 'TICKET_NOT_FOUND' ? error.error.code : undefined
}
${RECEIVER}`,
    wrong: [
      ["priority: 'urgent'", "priority: 'asap'", '\'"asap"\' is not assignable'],
      ["subject: 'The printer is on fire', ", '', "'subject' is missing"],
      ["sort: '-updated_at', per_page", 'sort: "lost", per_page', '\'"lost"\' is not assignable'],
      ['data.meta.total', 'data.meta.sum', "'sum' does not exist"],
      ["code === 'TICKET_NOT_FOUND'", "code === 'LABEL_NOT_FOUND'", 'have no overlap'],
      ['data.previous_status', 'data.status_before', "'status_before' does not exist"],
    ],
  },
  {
    name: '@hey-api/openapi-ts',
    async generate(url, dir) {
      const { createClient } = await import('@hey-api/openapi-ts')
      await createClient({ input: url, output: path.join(dir, 'client'), logs: { level: 'silent', file: false } })
    },
    program: `
import { createContact, createTicket, getTicket, listTickets } from './client'
import type { Ticket, TicketStatusChangedEvent } from './client'
import { createClient } from './client/client'

const clientOf = (baseUrl: string, key: string) => createClient({ baseUrl, headers: { authorization: 'ApiKey ' + key } })

export async function work(baseUrl: string, key: string): Promise<Ticket[]> {
  const client = clientOf(baseUrl, key)
  const contact = await createContact({ client, body: { name: 'Carla Customer', email: 'carla@customer.example' } })
  if (!contact.data) throw new Error(contact.error.error.message)

  const ticket = await createTicket({
    client,
    body: { subject: 'The printer is on fire', contact_id: contact.data.data.id, priority: 'urgent' },
  })
  if (!ticket.data) throw new Error(ticket.error.error.message)

  const list = await listTickets({ client, query: { status: 'open', sort: '-updated_at', per_page: 10 } })
  if (!list.data) throw new Error(list.error.error.message)
  return list.data.data
}

export async function codeOfUnknownTicket(baseUrl: string, key: string): Promise<'TICKET_NOT_FOUND' | undefined> {
  const { error } = await getTicket({ client: clientOf(baseUrl, key), path: { ticket_id: '${NOBODY}' } })
  return error?.error.code === 'TICKET_NOT_FOUND' ? error.error.code : undefined
}
${RECEIVER}`,
    wrong: [
      ["sort: '-updated_at', per_page", 'sort: "lost", per_page', '\'"lost"\' is not assignable'],
      ['data.previous_status', 'data.status_before', "'status_before' does not exist"],
    ],
  },
  {
    name: 'orval',
    async generate(url, dir) {
      const { generate } = await import('orval')
      const baseUrl = new URL(url).origin
      await generate({
        input: { target: url },
        output: { target: path.join(dir, 'client.ts'), client: 'fetch', mode: 'single', baseUrl },
      })
    },
    program: `
import { createContact, createTicket, getTicket, listTickets } from './client'
import type { Ticket, TicketStatusChangedEvent } from './client'

const withKey = (key: string) => ({ headers: { authorization: 'ApiKey ' + key } })

export async function work(_: string, key: string): Promise<Ticket[]> {
  const contact = await createContact({ name: 'Carla Customer', email: 'carla@customer.example' }, withKey(key))
  if (contact.status !== 201) throw new Error(contact.data.error.message)

  const ticket = await createTicket(
    { subject: 'The printer is on fire', contact_id: contact.data.data.id, priority: 'urgent' },
    withKey(key),
  )
  if (ticket.status !== 201) throw new Error(ticket.data.error.message)

  const list = await listTickets({ status: 'open', sort: '-updated_at', per_page: 10 }, withKey(key))
  if (list.status !== 200) throw new Error('not listed')
  return list.data.data
}

export async function codeOfUnknownTicket(_: string, key: string): Promise<'TICKET_NOT_FOUND' | undefined> {
  const answer = await getTicket('${NOBODY}', {}, withKey(key))
  return answer.status === 404 && answer.data.error.code === 'TICKET_NOT_FOUND' ? answer.data.error.code : undefined
}
${RECEIVER}`,
    wrong: [
      ["sort: '-updated_at', per_page", 'sort: "lost", per_page', '\'"lost"\' is not assignable'],
      ['data.previous_status', 'data.status_before', "'status_before' does not exist"],
    ],
  },
]

const TYPE_CHECK = {
  compilerOptions: {
    ...{ target: 'ESNext', module: 'Preserve', moduleResolution: 'bundler', lib: ['ESNext', 'DOM', 'DOM.Iterable'] },
    ...{ types: [], strict: true, noEmit: true },
  },
}

type Client = {
  work(url: string, key: string): Promise<Record<string, unknown>[]>
  codeOfUnknownTicket(url: string, key: string): Promise<string | undefined>
  told(body: unknown): string
}

let root: string
let server: Bun.Server<undefined>

beforeAll(async () => {
  await startApi()
  server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: (request) => api().handle(request) })
  root = mkdtempSync(path.join(tmpdir(), 'openapi-client-'))
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(root, 'node_modules'))
})
afterAll(async () => {
  await server.stop(true)
  await stopApi()
  rmSync(root, { recursive: true })
})

describe.each(GENERATORS)('a client by $name', ({ name, generate, program, wrong }) => {
  let dir: string
  let faults: string[]

  beforeAll(async () => {
    dir = path.join(root, path.basename(name))
    mkdirSync(dir)
    await generate(new URL('/swagger/json', server.url).href, dir)
    faults = faultsOf(dir, [program, ...wrong.map(([right, bad]) => program.replace(right, bad))])
  })

  test('compiles, and does the work', async () => {
    expect(faults.filter((fault) => !/^program-[1-9]/.test(fault))).toEqual([])
    const { work, codeOfUnknownTicket, told } = (await import(path.join(dir, 'program-0.ts'))) as Client
    const { admin } = await createOrganization()
    const { key } = await createProgram(admin, ['tickets:write', 'contacts:write'])
    expect(await work(server.url.origin, key)).toEqual([
      expect.objectContaining({
        subject: 'The printer is on fire',
        priority: 'urgent',
        status: 'open',
        contact: expect.objectContaining({ email: 'carla@customer.example' }),
      }),
    ])
    expect(await codeOfUnknownTicket(server.url.origin, key)).toBe('TICKET_NOT_FOUND')
    expect(told({ data: { code: 'TKT-1', previous_status: 'open' } })).toBe('TKT-1 was open')
  })

  test.each(wrong.map(([right, bad, fault], n) => [right, bad, fault, n + 1] as const))(
    'with %p made %p does not compile',
    (right, _, fault, n) => {
      expect(program).toContain(right)
      expect(faults.filter((one) => one.startsWith(`program-${n}.ts`)).join()).toContain(fault)
    },
  )
})

/** Errors of the compiler, each with its further lines. It reads the long types once for all programs. */
function faultsOf(dir: string, programs: string[]): string[] {
  const files = programs.map((program, n) => {
    writeFileSync(path.join(dir, `program-${n}.ts`), program)
    return `program-${n}.ts`
  })
  writeFileSync(path.join(dir, 'tsconfig.json'), JSON.stringify({ ...TYPE_CHECK, files }))
  const compiler = path.join(ROOT, 'node_modules/typescript/bin/tsc')
  const { stdout, stderr } = spawnSync(process.execPath, [compiler, '--project', dir], { cwd: dir, encoding: 'utf8' })
  return (stdout + stderr).split(/^(?=\S)/m).filter(Boolean)
}
