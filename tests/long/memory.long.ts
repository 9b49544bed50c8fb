/** Measures the memory of the service with its mail parser while clients do what they should not. Linux only. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { createDatabase, type TestDatabase } from '../support/database'
import { type Service, startService } from '../support/service'

const MB = 1024 * 1024
const MOST_BYTES = 400 * MB

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

test.each([50, 200])(
  '%d uploads of 24 MB at once',
  async (count) => {
    await within(`${count} uploads`, () => flood('uploads', count))
  },
  300_000,
)

/** Runs clients in a process of their own. @returns how many got which status, 0 for no answer */
async function flood(kind: string, count: number): Promise<Record<string, number>> {
  const args = [path.join(import.meta.dirname, '../support/flood.ts'), kind, String(port), String(count), ...keys]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  return JSON.parse(stdout)
}

/** Runs `work` beside a client whose requests must all be answered, and fails when memory exceeds the limit. */
async function within(what: string, work: () => Promise<unknown>): Promise<void> {
  const before = treeMemory()
  let most = 0
  let is_on = true
  const watch = setInterval(() => (most = Math.max(most, treeMemory())), 50)
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
  let result: unknown
  try {
    result = await work()
  } finally {
    is_on = false
    await other
    clearInterval(watch)
  }
  waits.sort((a, b) => a - b)
  const at = (share: number) => Math.round(waits[Math.floor(share * (waits.length - 1))] ?? 0)
  console.log(
    `${what}: ${Math.round(before / MB)} MB before, at most ${Math.round(most / MB)} MB, ${Math.round(treeMemory() / MB)} MB after; ` +
      `${waits.length} other requests, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, max ${at(1)} ms; ${JSON.stringify(result)}`,
  )
  expect([...statuses]).toEqual([200])
  expect(most).toBeLessThan(MOST_BYTES)
}

/** Proportional set size of the service and its children, in bytes. */
function treeMemory(): number {
  const { pid } = service.process
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').split(' ').filter(Boolean)
  return [String(pid), ...children].reduce((sum, one) => sum + memoryOf(one), 0)
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
