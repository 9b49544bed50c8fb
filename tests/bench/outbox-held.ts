/**
 * A steady flow of deliveries beside a transaction that is held open, as by a long report or a backup: rows that are
 * finished stay in the outbox and its indexes until it ends.
 */
import postgres from 'postgres'
import type { Connection } from '../../src/base/db/transact'
import { startDrain } from '../../src/delivery/outbox/drain'
import { deliverWebhook } from '../../src/delivery/webhooks/deliver'
import { seedFlow } from './outbox-seed'
import { cpuOf, cpuOfEach, treeOf } from './processes'
import { cpuText, rounded, verdict } from './report'

const HELD_S = Number(process.env.BENCH_HELD_S ?? 180)
/** The flow is measured in the last part of its time. */
const MEASURED_S = Math.min(20, HELD_S / 3)
/** Rows that wait at most, and that are added at once. */
const WAITING = 3000
const ADDED = 500

type Held = {
  connection: Connection
  /** How another client connects. */
  holder: object
  organization_id: string
  webhooks: string[]
  body: string
}

export async function measureHeld(held: Held): Promise<void> {
  const { sql } = held.connection
  await sql`vacuum (analyze) outbox`
  const before = await measureFlow(held, 2 * MEASURED_S)
  const holder = postgres({ ...held.holder, max: 1 })
  await holder.unsafe('begin isolation level repeatable read; select from outbox limit 1')
  const beside = await measureFlow(held, HELD_S)
  await holder.end()
  await sql`vacuum outbox`
  const after = await measureFlow(held, 2 * MEASURED_S)
  // Minutes lie between: what else the machine does changes meanwhile.
  const ratio = beside.per_s / ((before.per_s + after.per_s) / 2)
  const growth = after.megabytes / beside.megabytes
  console.log(
    `beside an open transaction        ${beside.per_s.toFixed(0)}/s at the end of ${HELD_S} s, before ${before.per_s.toFixed(0)}/s, after ${after.per_s.toFixed(0)}/s: ` +
      `${rounded(ratio)} of their mean, CPU ms ${beside.cpu}, before ${before.cpu}, ${verdict('deliveries beside an open transaction', ratio, { at_least: 0.85 })}`,
  )
  console.log(
    `after its end                     CPU ms ${after.cpu}; outbox ${rounded(before.megabytes)}, ${rounded(beside.megabytes)} ` +
      `and ${rounded(after.megabytes)} MB, ${verdict('growth of the outbox after an open transaction', growth, { at_most: 1.2 })}`,
  )
}

/** Deliveries a second at the end of some time, and the size of the outbox with its indexes then. */
async function measureFlow({ connection, organization_id, webhooks, body }: Held, seconds: number) {
  const { sql } = connection
  let settled = 0
  let added = 0
  const drain = startDrain(connection, { webhook: deliverWebhook }, { on_settled: () => void settled++ })
  const end_ms = performance.now() + seconds * 1000
  const stateNow = () => ({
    at_ms: performance.now(),
    settled,
    cpu: cpuOf(treeOf(process.pid).slice(0, 1), treeOf(process.pid)),
  })
  let from: ReturnType<typeof stateNow> | undefined
  while (performance.now() < end_ms) {
    if (!from && performance.now() > end_ms - MEASURED_S * 1000) from = stateNow()
    if (added - settled > WAITING - ADDED) await Bun.sleep(5)
    else {
      await seedFlow(sql, organization_id, webhooks, body, ADDED)
      added += ADDED
    }
  }
  const to = stateNow()
  const done = to.settled - from!.settled
  const per_s = done / ((to.at_ms - from!.at_ms) / 1000)
  const cpu = cpuText(cpuOfEach(from!.cpu, to.cpu, done))
  while (settled < added) await Bun.sleep(20)
  await drain.stop(1000)
  const [size] = await sql<[{ bytes: number }]>`select pg_total_relation_size('outbox') as bytes`
  return { per_s, cpu, megabytes: size.bytes / 2 ** 20 }
}
