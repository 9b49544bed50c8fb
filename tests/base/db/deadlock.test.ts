/** A transaction that the server ends because it and another one wait for each other. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import postgres from 'postgres'
import type { Sql } from '../../../src/base/db/transact'
import { afterCommit, inTransaction, type Scope } from '../../../src/base/scope'
import { createOrganization, startApi, stopApi } from '../../support/api'
import { nodeUrls } from '../../support/cluster'
import { createCompany, createLabel } from '../../support/factories'
import { someoneWaits } from '../../support/lock-waits'

let other: postgres.Sql
let scope: Scope
/** Two rows that the transactions lock. */
let first: string
let second: string
let runs: number
let after_commit: number

beforeAll(async () => {
  const { url } = await startApi()
  other = postgres(url, { max: 1 })
})
afterAll(async () => {
  await other.end()
  await stopApi()
})
beforeEach(async () => {
  const organization = await createOrganization()
  scope = organization.scope
  first = (await createLabel(organization.admin)).id
  second = (await createLabel(organization.admin)).id
  await createCompany(organization.admin)
  runs = 0
  after_commit = 0
})

/** Writes, and waits for another transaction that waits for it: the first so many times. */
function write(deadlocks: number): Promise<string> {
  return inTransaction(scope, async (scope) => {
    runs++
    afterCommit(scope, () => after_commit++)
    const { sql, organization_id } = scope
    await sql`update companies set notes = coalesce(notes, '') || 'written ' where organization_id = ${organization_id}`
    if (runs <= deadlocks) await waitInACircle(sql)
    return `run ${runs}`
  })
}

/** The server ends the transaction that looks for a circle first: this one looks soon, the other never. */
async function waitInACircle(sql: Sql): Promise<void> {
  const { organization_id } = scope
  const lock = (sql: Sql, id: string) =>
    sql`select 1 from labels where organization_id = ${organization_id} and id = ${id} for update`
  await sql`set local deadlock_timeout = '10ms'`
  await lock(sql, first)
  const theirs = other.begin(async (transaction) => {
    const their_sql = transaction as unknown as Sql
    await their_sql`set local deadlock_timeout = '1h'`
    await lock(their_sql, second)
    await lock(their_sql, first)
  })
  await someoneWaits()
  try {
    await lock(sql, second)
  } finally {
    // It goes on when this transaction has been rolled back.
    ended = theirs
  }
}

/** The other transaction. */
let ended: Promise<unknown> | undefined

async function notes(): Promise<string | null> {
  const { sql, organization_id } = scope
  const [row] = await sql<
    { notes: string | null }[]
  >`select notes from companies where organization_id = ${organization_id}`
  return row!.notes
}

// Citus ends deadlocks between machines by itself, and not always the transaction that looks first.
const onPlain = test.skipIf(nodeUrls() !== undefined)

onPlain.each([1, 2])(
  'runs again after a deadlock, and its effects are there once (%p deadlocks)',
  async (deadlocks) => {
    expect(await write(deadlocks)).toBe(`run ${deadlocks + 1}`)
    await ended
    expect([runs, after_commit, await notes()]).toEqual([deadlocks + 1, 1, 'written '])
  },
)

onPlain('fails after the third deadlock, without effects', async () => {
  expect(await write(3).catch(({ code }) => code)).toBe('40P01')
  await ended
  expect([runs, after_commit, await notes()]).toEqual([3, 0, null])
})
