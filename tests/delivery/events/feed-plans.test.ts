/** A page of the feed reads as much at any place, however many events there are. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Scope } from '../../../src/base/scope'
import { FED } from '../../../src/delivery/events/model'
import { readItems, readPart } from '../../../src/delivery/events/queries'
import { createOrganization, startApi, stopApi } from '../../support/api'
import { nodeUrls } from '../../support/cluster'
import { type Explaining, openExplaining, pagesOf, scansOf } from '../../support/explaining'

const ROWS = Number(process.env.FEED_ROWS ?? 20_000)
const IS_REFUSED = nodeUrls() !== undefined

let scope: Scope
let explaining: Explaining

beforeAll(async () => {
  if (IS_REFUSED) return
  const { url } = await startApi()
  const organization = await createOrganization()
  const { id } = organization
  explaining = await openExplaining(url)
  const { sql } = explaining
  await sql.unsafe('alter table events disable trigger user')
  await sql`
    with ids as materialized (
      select n, (lpad(to_hex(n), 8, '0') || '-0000-7000-8000-' || substr(md5(n::text), 1, 12))::uuid as id
      from generate_series(1, ${ROWS}::int) n
    ), told as (
      insert into events (organization_id, id, type, body, resource_id)
      select ${id}::uuid, id, 'ticket.updated', '{"event":"ticket.updated","data":{"text":"' || repeat('x', 600) || '"}}', id
      from ids
    )
    insert into event_places (organization_id, place, nth, event_id, type, resource_id, happened_at)
    select ${id}::uuid, n::bigint << 20, 0, id, 'ticket.updated', id, now() from ids`
  await sql.unsafe('alter table events enable trigger user')
  scope = { ...organization.scope, sql }
  await explaining.settle()
  await explaining.start()
}, 600_000)
afterAll(async () => {
  if (IS_REFUSED) return
  await explaining.close()
  await stopApi()
})

test.skipIf(IS_REFUSED).each([0, 0.5, 0.99])('of 100 events at %p of them', async (part) => {
  const order = { settled: String(BigInt(ROWS) << 20n) }
  const after = { place: String(BigInt(Math.floor(ROWS * part)) << 20n), nth: 0 }
  const read = async (filter = {}) => {
    const page = await readPart(scope, { after, order, types: FED, filter, most: 100 })
    return readItems(scope, page.found)
  }
  for (let n = 0; n < 6; n++) expect(await read()).toHaveLength(100)
  expect(await read({ resource_ids: ['018f0000-0000-7000-8000-000000000000'] })).toHaveLength(0)
  const plans = await explaining.plansOf(read)
  expect(plans.flatMap(scansOf).filter((scan) => !scan.startsWith('Index'))).toEqual([])
  // The places that a page looks at, and the 100 events that it shows.
  expect(Math.max(...plans.map(pagesOf))).toBeLessThan(1000)
  const began_ms = performance.now()
  for (let n = 0; n < 20; n++) await read()
  if (process.env.FEED_ROWS) console.info(`${ROWS} events at ${part}: ${(performance.now() - began_ms) / 20} ms a page`)
})
