/** The guide's program that keeps a copy, killed again and again while others write. `COPY_SEED` repeats a run. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import postgres from 'postgres'
import { createDatabase } from '../support/database'
import { freePort } from '../support/ports'
import { randomFrom } from '../support/seeded'
import { type Service, startService, until } from '../support/service'

const ROOT = path.join(import.meta.dir, '../..')
const KILLS = 5
const LISTS = { ticket: 'tickets', message: 'messages', contact: 'contacts', company: 'companies', label: 'labels' }

// biome-ignore lint/suspicious/noExplicitAny: rows of every list
type Row = any

let dir: string
let service: Service
let copy: { url: string }
let key: string
let sql: postgres.Sql
let env: Record<string, string>

beforeAll(async () => {
  dir = mkdtempSync(path.join(tmpdir(), 'event-copy-'))
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(dir, 'node_modules'))
  const guide = readFileSync(path.join(ROOT, 'src/guide/api.md'), 'utf8')
  const section = guide.slice(guide.indexOf('### Keep a copy in your own database'))
  writeFileSync(path.join(dir, 'program.ts'), /```ts\n([\s\S]*?)```/.exec(section)![1]!)
  env = {
    DATABASE_URL: (await createDatabase()).url,
    SECRET_KEY: 'a secret key that only tests use',
    DATA_DIR: path.join(dir, 'data'),
    PORT: String(await freePort()),
  }
  service = await startService(env)
  const client = await fetch(new URL('/client.ts', service.url))
  writeFileSync(path.join(dir, 'deskwire.ts'), await client.text())
  copy = await createDatabase()
  sql = postgres(copy.url, { max: 1 })
  const permissions = ['tickets:read', 'messages:read', 'contacts:read', 'companies:read', 'labels:read']
  key = (await service.call('POST', '/api-keys', { name: 'Copy', permissions })).body.data.key
}, 120_000)
afterAll(async () => {
  await sql.end()
  await service.kill()
  rmSync(dir, { recursive: true, force: true })
})

function startProgram(): ChildProcess {
  return spawn(process.execPath, ['program.ts'], {
    cwd: dir,
    env: { ...process.env, COPY_URL: copy.url, DESKWIRE_URL: service.url, DESKWIRE_KEY: key },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
}

/** Makes one change of any kind. What refers to something that is gone by now is refused, and nothing else is. */
async function change(random: () => number, made: Record<keyof typeof LISTS, string[]>): Promise<void> {
  const any = (ids: string[]) => ids[Math.floor(random() * ids.length)]
  const call = async (method: string, path: string, body?: object, kind?: keyof typeof LISTS) => {
    const answer = await service.call(method, path, body).catch(() => undefined)
    if (kind && answer?.status === 201) made[kind].push(answer.body.data.id)
    if (answer && ![200, 201, 204, 404, 422, 503].includes(answer.status)) throw new Error(`${path} ${answer.status}`)
  }
  const name = `Name ${Math.floor(random() * 1e9)}`
  const ticket = any(made.ticket)
  const contact = any(made.contact)
  const company_id = any(made.company)
  const label_ids = [any(made.label)].filter(Boolean)
  const drop = (kind: keyof typeof LISTS) => call('DELETE', `/${LISTS[kind]}/${made[kind].shift()}`)
  const choice = Math.floor(random() * 100)
  if (choice < 20 && contact)
    return call('POST', '/tickets', { subject: name, contact_id: contact, label_ids }, 'ticket')
  if (choice < 40 && ticket) return call('POST', `/tickets/${ticket}/messages`, { body: name, is_internal: true })
  if (choice < 60 && ticket) return call('PATCH', `/tickets/${ticket}`, { subject: name, label_ids })
  if (choice < 70 && contact) return call('PATCH', `/contacts/${contact}`, { company_id: company_id ?? null })
  if (choice < 73 && made.ticket.length > 5) return drop('ticket')
  if (choice < 76 && made.label.length > 2) return drop('label')
  if (choice < 78 && made.company.length > 2) return drop('company')
  if (choice < 80 && made.contact.length > 3) return drop('contact')
  if (choice < 85) return call('POST', '/labels', { name, color: '#112233' }, 'label')
  if (choice < 90) return call('POST', '/companies', { name }, 'company')
  return call('POST', '/contacts', { name, email: `${crypto.randomUUID()}@customer.example`, company_id }, 'contact')
}

/** The part that others' names and messages do not change. */
function essenceOf({ id, subject, status, name, email, body, contact, company, ticket, labels, color }: Row) {
  const labelled = labels?.map((label: Row) => label.id).sort()
  const ids = { contact: contact?.id, company: company?.id, ticket: ticket?.id, labels: labelled }
  return JSON.stringify({ id, subject, status, name, email, body, color, ...ids })
}

async function rowsOf(list: string): Promise<string[]> {
  const rows: Row[] = []
  for (let cursor = ''; ; ) {
    const { body } = await service.call('GET', `/${list}?per_page=100${cursor && `&cursor=${cursor}`}`)
    rows.push(...body.data)
    cursor = body.meta.next_cursor
    if (!cursor || body.data.length === 0) return rows.map(essenceOf).toSorted()
  }
}

test('the copy equals its source row by row after the program was killed five times and the service stopped', async () => {
  const random = randomFrom(Number(process.env.COPY_SEED ?? 1))
  const made = { ticket: [], message: [], contact: [], company: [], label: [] }
  for (let n = 0; n < 300; n++) await change(random, made)
  let program = startProgram()
  let is_over = false
  const writers = Array.from({ length: 4 }, async () => {
    while (!is_over) await change(random, made)
  })
  for (let kill = 0; kill < KILLS; kill++) {
    await Bun.sleep(700 + random() * 2500)
    program.kill('SIGKILL')
    if (kill === 2) {
      await service.kill()
      service = await startService(env)
    }
    program = startProgram()
  }
  await Bun.sleep(2000)
  is_over = true
  await Promise.all(writers)
  const { body } = await service.call('POST', '/labels', { name: 'The last', color: '#112233' })
  await until('the copy has the last change', async () => {
    expect(program.exitCode).toBeNull()
    return (await sql`select 1 from copied where id = ${body.data.id}`).length === 1
  })
  program.kill('SIGKILL')
  for (const [kind, list] of Object.entries(LISTS)) {
    const rows = await sql<{ data: Row }[]>`select data from copied where kind = ${kind}`
    const source = await rowsOf(list)
    expect(rows.map(({ data }) => essenceOf(data)).toSorted()).toEqual(source)
    console.info(`${source.length} ${list}`)
  }
}, 300_000)
