/** Query plans of the statements that find and lease work, beside more or less finished work. */
import { expect } from 'bun:test'
import { newId } from '../../src/base/db/columns'
import type { Sql } from '../../src/base/db/transact'
import { claim } from '../../src/delivery/outbox/claim'
import { findDueLanes } from '../../src/delivery/outbox/due-lanes'
import { createDatabase } from './database'
import { type Explaining, openExplaining, pagesOf, scansOf } from './explaining'

type Measured = {
  step: keyof typeof ALLOWED
  /** The step, and its plan. */
  name: string
  /** Each access to a table: `Index Scan outbox`. */
  scans: string[]
  /** Pages read, from the cache or not. */
  pages: number
}

const BY_INDEX = ['Index Scan outbox', 'Index Only Scan outbox', 'ModifyTable outbox']
/** Looking at all due rows of a backlog may read the whole outbox. It has no finished work. */
const ALLOWED = { head: BY_INDEX, all: [...BY_INDEX, 'Seq Scan outbox'], lease: BY_INDEX }
const LANES = 50
const ROWS_OF_LANE = 200
/** Whatever holds a snapshot while the outbox is vacuumed costs some pages; a history would cost thousands. */
const MOST_GROWTH = 1.5

/**
 * Measures claims beside no history and beside one of `count` deliveries. Fails when one reads it, or a whole table.
 */
export async function checkClaimsBeside(count: number) {
  const database = await createDatabase()
  const explaining = await openExplaining(database.url)
  try {
    await explaining.start()
    const before = await measureClaims(explaining)
    await fillHistory(explaining.sql, count)
    const after = await measureClaims(explaining)
    for (const { step, name, scans } of [...before, ...after]) {
      expect([name, scans.filter((scan) => !ALLOWED[step].includes(scan))]).toEqual([name, []])
    }
    for (const [n, { name, pages }] of after.entries()) {
      expect([name, pages <= before[n]!.pages * MOST_GROWTH]).toEqual([name, true])
    }
    return after.map(({ name, pages }, n) => ({ name, pages_without: before[n]!.pages, pages_with: pages }))
  } finally {
    await explaining.close()
    await database.drop()
  }
}

/**
 * Rows read to find lanes in a backlog (at its head, then among all due rows) and to lease, with both kinds of plans.
 */
async function measureClaims(explaining: Explaining): Promise<Measured[]> {
  const { sql, plansOf } = explaining
  const measured: Measured[] = []
  for (const mode of ['force_custom_plan', 'force_generic_plan']) {
    const { organization_id, lanes } = await fillOutbox(sql)
    await sql`select set_config('plan_cache_mode', ${mode}, false)`
    const [head, all] = await plansOf(() => findDueLanes(sql, 'webhook', 0))
    const [lease] = await plansOf(() =>
      claim(
        sql,
        'webhook',
        organization_id,
        lanes.map((lane_id) => ({ lane_id, room: 2 })),
        newId(),
      ),
    )
    for (const [step, plan] of Object.entries({ head, all, lease })) {
      const name = `${step}, ${mode}`
      measured.push({ step: step as keyof typeof ALLOWED, name, scans: scansOf(plan!), pages: pagesOf(plan!) })
    }
  }
  return measured
}

/** The same backlog each time. */
async function fillOutbox(sql: Sql) {
  const organization_id = newId()
  const lanes = Array.from({ length: LANES }, newId).toSorted()
  await sql`truncate outbox`
  await sql`
    insert into outbox (organization_id, id, kind, lane_id, run_at)
    select ${organization_id}::uuid, gen_random_uuid(), 'webhook', lane_id, now() - n * interval '1 second'
    from unnest(${lanes}::uuid[]) as lane_id, generate_series(1, ${ROWS_OF_LANE}) as n`
  await sql`vacuum analyze outbox`
  return { organization_id, lanes }
}

/** Deliveries that are finished, each with its event and attempt, of one webhook. */
async function fillHistory(sql: Sql, count: number): Promise<void> {
  const [organization_id, webhook_id] = [newId(), newId()]
  const id = sql`('0190' || lpad(to_hex(n), 8, '0') || '70008000000000000000')::uuid`
  const rows = sql`from generate_series(1, ${count}::integer) as n`
  await sql`insert into organizations (id, name) values (${organization_id}, 'Acme')`
  await sql`
    insert into webhooks (organization_id, id, url, events)
    values (${organization_id}, ${webhook_id}, 'https://receiver.example/', '{ticket.created}')`
  // The keys of so many rows need no check.
  await sql`set session_replication_role = replica`
  await sql`
    insert into events (organization_id, id, type, body)
    select ${organization_id}::uuid, ${id}, 'ticket.created', '{"event":"ticket.created","data":{}}' ${rows}`
  await sql`
    insert into deliveries (organization_id, id, webhook_id, event_id, event, status, attempts, response_code)
    select ${organization_id}::uuid, ${id}, ${webhook_id}::uuid, ${id}, 'ticket.created', 'success', 1, 200 ${rows}`
  await sql`
    insert into delivery_attempts
      (organization_id, delivery_id, attempt, started_at, response_code, response_time_ms)
    select ${organization_id}::uuid, ${id}, 1, now(), 200, 7 ${rows}`
  await sql`set session_replication_role = origin`
  await sql`analyze events, deliveries, delivery_attempts`
}
