/**
 * Measures the memory of the service with its mail parser while clients do what they should not. Linux only.
 * `mail-load.long.ts` has many large emails at once, which take more.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { createDatabase, type TestDatabase } from '../support/database'
import { type Service, startService, until } from '../support/service'

const MB = 1024 * 1024
const MOST_BYTES = 400 * MB
/** The memory that stays soon after the load: garbage that is kept for reuse. */
const REST_BYTES = 200 * MB

let database: TestDatabase
let service: Service
let port: string
let keys: string[]

beforeAll(async () => {
  database = await createDatabase()
  service = await startService({
    DATABASE_URL: database.url,
    SECRET_KEY: 'a secret key that only tests use',
    DATA_DIR: path.join(tmpdir(), `memory-${crypto.randomUUID()}`),
    // As the launcher sets it.
    BUN_JSC_forceRAMSize: String(512 * MB),
  })
  port = new URL(service.url).port
  await service.call('POST', '/mailboxes', { address: 'support@desk.example' })
  // A caller may have 100 uploads that no message uses.
  keys = await Promise.all(
    ['one', 'two', 'three', 'four'].map(async (name) => {
      const { body } = await service.call('POST', '/api-keys', { name, permissions: ['messages:write'] })
      if (!body.data) throw new Error(JSON.stringify(body))
      return body.data.key
    }),
  )
})
afterAll(async () => {
  await service.stop()
  await database.drop()
})

type Statuses = Record<string, number>

test.each<[count: number, kind: string, isExpected: (statuses: Statuses) => boolean]>([
  // One organization holds 25 at a time, the others are told to come again.
  [25, 'uploads', (statuses) => statuses[201] === 25],
  [200, 'uploads', (statuses) => statuses[201]! >= 25 && statuses[201]! + statuses[503]! === 200],
  [2000, 'idle SMTP connections', (statuses) => statuses[220] === 1000 && statuses[421] === 1000],
  [1000, 'slow headers', (statuses) => statuses[0] === 1000 || statuses[408] === 1000],
  [500, 'slow bodies', (statuses) => statuses[408]! > 0 && statuses[408]! + statuses[503]! === 500],
  [25, 'bodies that break off', (statuses) => statuses[0] === 25],
  [25, 'whole bodies', (statuses) => statuses[201] === 25],
  [300, 'clients that do not read', () => true],
  [5000, 'idle connections', () => true],
  // Twice as many as are filed at once: a connection that has filed one keeps nothing of it.
  [6, 'mails', (statuses) => statuses[250] === 6],
])('%d %s', async (count, kind, isExpected) => {
  const statuses = await within(`${count} ${kind}`, () => flood(kind, count))
  await until('memory is given back', () => sum(treeMemory()) < REST_BYTES)
  expect([statuses, isExpected(statuses)]).toEqual([statuses, true])
})

/** Runs clients in a process of their own. @returns how many got which status, 0 for no answer */
async function flood(kind: string, count: number): Promise<Statuses> {
  const to = /SMTP|mails/.test(kind) ? String(service.smtp_port) : port
  const args = [path.join(import.meta.dirname, '../support/flood.ts'), kind, to, String(count), ...keys]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  return JSON.parse(stdout)
}

/** Runs `work` beside a client whose requests must all be answered, and fails when memory exceeds the limit. */
async function within(what: string, work: () => Promise<Statuses>): Promise<Statuses> {
  const before = treeMemory()
  let is_on = true
  let most = before
  const watch = setInterval(() => {
    const now = treeMemory()
    if (sum(now) > sum(most)) most = now
  }, 50)
  const statuses = new Set<number>()
  const waits: number[] = []
  const other = (async () => {
    while (is_on) {
      const began = performance.now()
      statuses.add((await service.call('GET', '/mailboxes')).status)
      waits.push(performance.now() - began)
      await Bun.sleep(50)
    }
  })()
  let result: Statuses = {}
  try {
    result = await work()
  } finally {
    await whenFiled()
    is_on = false
    await other
    clearInterval(watch)
  }
  waits.sort((a, b) => a - b)
  const at = (share: number) => Math.round(waits[Math.floor(share * (waits.length - 1))] ?? 0)
  console.log(
    `${what}: ${inMb([sum(before)])} MB before, at most ${inMb([sum(most)])} MB (${inMb(most)}), ${inMb([sum(treeMemory())])} MB after; ` +
      `${waits.length} other requests, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, max ${at(1)} ms; ${JSON.stringify(result)}`,
  )
  expect([...statuses]).toEqual([200])
  expect(sum(most), `MB of the service and its children: ${inMb(most)}`).toBeLessThan(MOST_BYTES)
  return result
}

async function whenFiled(): Promise<void> {
  const isFiled = async () =>
    (await service.call('GET', '/inbound-messages?outcome=pending&per_page=1')).body.meta.total === 0
  await until('all mail is filed', isFiled)
}

/** Proportional set sizes of the service and of each child, in bytes. */
function treeMemory(): number[] {
  const { pid } = service.process
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').split(' ').filter(Boolean)
  return [String(pid), ...children].map(memoryOf)
}

function sum(sizes: number[]): number {
  return sizes.reduce((all, one) => all + one, 0)
}

function inMb(sizes: number[]): string {
  return sizes.map((size) => Math.round(size / MB)).join(' + ')
}

function memoryOf(pid: string): number {
  try {
    const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1')
    return Number(/^Pss:\s+(\d+)/m.exec(rollup)?.[1] ?? 0) * 1024
  } catch {
    // It has just ended.
    return 0
  }
}
