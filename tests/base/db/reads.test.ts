/** Reads of an organization: they share the pool with others, and end in time. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import postgres from 'postgres'
import { closeDatabase, connectDatabase } from '../../../src/base/db/pool'
import type { ReadLimits } from '../../../src/base/db/reads'
import { isDatabaseReady } from '../../../src/operate/start/database'
import { type Answer, createOrganization, type Organization, startApi, stopApi } from '../../support/api'
import { until } from '../../support/service'

const POOL = 6
const SHARE = 2
const MANY = 20

let greedy: Organization
let other: Organization
let holder: postgres.Sql
let watcher: postgres.Sql
let target: string

beforeEach(async () => {
  target = (await startApi(POOL)).target
  greedy = await createOrganization()
  other = await createOrganization()
  holder = postgres(target, { max: 1, onnotice: () => {} })
  watcher = postgres(target, { max: 1 })
})
afterEach(async () => {
  await Promise.all([holder.end(), watcher.end()])
  await stopApi()
})

async function connectWith(reads: Partial<ReadLimits>) {
  await closeDatabase()
  connectDatabase(target, POOL, { reads })
}

/** Makes every read of labels wait until the end of `work`. */
async function whileLabelsAreLocked<T>(work: () => Promise<T>): Promise<T> {
  await holder`begin`
  await holder`lock table labels in access exclusive mode`
  try {
    return await work()
  } finally {
    await holder`rollback`
  }
}

async function waitingReads(): Promise<number> {
  const [row] = await watcher<{ n: number }[]>`
    select count(*)::integer as n from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and query like '%from labels%'`
  return row!.n
}

const readLabels = (count: number) => Array.from({ length: count }, () => greedy.agent.get('/labels'))
const statusesOf = (answers: Answer[]) => [...new Set(answers.map(({ status }) => status))]

test('reads of one organization hold a third of the pool, and others and its own writes go on', async () => {
  await connectWith({ most_ms: 60_000 })
  let asked: Promise<Answer>[] = []
  await whileLabelsAreLocked(async () => {
    asked = readLabels(MANY)
    await until('they wait for the lock', async () => (await waitingReads()) >= SHARE)
    for (let time = 0; time < POOL; time++) {
      const beside = await Promise.all([
        other.agent.get('/companies'),
        other.agent.get('/contacts'),
        greedy.agent.post('/contacts', { name: 'Carla', email: `carla${time}@customer.example` }),
      ])
      expect(beside.map(({ status }) => status)).toEqual([200, 200, 201])
      expect(await isDatabaseReady()).toBe(true)
    }
    expect(await waitingReads()).toBe(SHARE)
  })
  expect(statusesOf(await Promise.all(asked))).toEqual([200])
}, 30_000)

test('a statement is never sent behind the read of another organization', async () => {
  await connectWith({ most_ms: 60_000 })
  // The driver sends nothing behind a statement that its connection does not know yet.
  for (let time = 0; time < POOL; time++) await Promise.all(readLabels(POOL))
  await whileLabelsAreLocked(async () => {
    const asked = [...readLabels(MANY), other.agent.get('/labels'), other.agent.get('/labels')]
    await until('they wait for the lock', async () => (await waitingReads()) >= 2 * SHARE)
    const beside = Array.from({ length: 10 * POOL }, () => other.admin.get('/organization'))
    // Reads of the other organization wait for its own share, its writes for nobody.
    const written = await Promise.all(
      Array.from({ length: 10 * POOL }, (_, n) => other.agent.post('/companies', { name: `Company ${n}` })),
    )
    expect(statusesOf(written)).toEqual([201])
    void Promise.all([...asked, ...beside])
  })
}, 30_000)

test('after a long read an organization reads singly beside others, and with its whole share alone', async () => {
  await connectWith({ most_ms: 60_000 })
  const readsBeside = async (isBeside: boolean) => {
    let asked: Promise<Answer>[] = []
    // The first reads are long, because they wait.
    await whileLabelsAreLocked(async () => {
      asked = readLabels(SHARE)
      await until('both wait for the lock', async () => (await waitingReads()) === SHARE)
      await watcher`select pg_sleep(0.2)`
    })
    expect(statusesOf(await Promise.all(asked))).toEqual([200])
    if (isBeside) expect((await other.agent.get('/labels')).status).toBe(200)
    return whileLabelsAreLocked(async () => {
      asked = readLabels(SHARE)
      await until('a read waits for the lock', async () => (await waitingReads()) > 0)
      if (!isBeside) await until('all of its share wait', async () => (await waitingReads()) === SHARE)
      await watcher`select pg_sleep(0.2)`
      return { reads: await waitingReads(), asked }
    })
  }
  // Both must have read within the last second, which a busy machine may miss.
  await until('one reads at a time', async () => {
    const { reads, asked } = await readsBeside(true)
    expect(statusesOf(await Promise.all(asked))).toEqual([200])
    return reads === 1
  })
  await watcher`select pg_sleep(1)`
  const { reads, asked } = await readsBeside(false)
  expect(reads).toBe(SHARE)
  await Promise.all(asked)
}, 30_000)

test('a read that waits too long for the share of its organization is answered 429', async () => {
  await connectWith({ wait_ms: 200 })
  const refused: Answer[] = []
  const asked = await whileLabelsAreLocked(async () => {
    const asked = readLabels(MANY)
    for (const answer of asked) void answer.then((answer) => refused.push(answer))
    await until('all but those of the share are answered', () => refused.length === MANY - SHARE)
    return asked
  })
  expect(statusesOf(refused.slice(0, MANY - SHARE))).toEqual([429])
  const [{ body, headers }] = refused as [Answer]
  expect(body.error).toMatchObject({ code: 'RATE_LIMITED', details: { reason: expect.any(String) } })
  expect(headers.get('retry-after')).toBe('1')
  await Promise.all(asked)
  expect(statusesOf(refused.slice(MANY - SHARE))).toEqual([200])
  expect(statusesOf(await Promise.all(readLabels(SHARE)))).toEqual([200])
}, 30_000)

test('a read that takes too long is ended with 503, and its connection serves the next', async () => {
  await connectWith({ most_ms: 300 })
  await whileLabelsAreLocked(async () => {
    const [answer] = await Promise.all(readLabels(1))
    expect([answer!.status, answer!.headers.get('retry-after')]).toEqual([503, '5'])
    expect(answer!.body.error.details.reason).toStartWith('Reading this takes longer than 0.3 s')
    await until('the server has ended it', async () => (await waitingReads()) === 0)
  })
  expect(statusesOf(await Promise.all(readLabels(MANY)))).toEqual([200])
}, 30_000)
