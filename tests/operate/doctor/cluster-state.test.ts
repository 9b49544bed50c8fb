/** The findings of the doctor about the machines of a cluster. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { connection } from '../../../src/base/db/pool'
import { analyzeGrownTables } from '../../../src/base/db/statistics'
import { checkCluster } from '../../../src/operate/doctor/cluster-state'
import { readFigures } from '../../../src/operate/doctor/figures'
import { createOrganization, startApi, stopApi } from '../../support/api'
import { runAsSuperuser, WHY_NO_CLUSTER } from '../../support/cluster'
import type { TestDatabase } from '../../support/database'

let database: TestDatabase

beforeAll(async () => {
  database = await startApi()
})
afterAll(stopApi)

test.skipIf(!WHY_NO_CLUSTER)('one machine is no cluster', async () => {
  expect(await checkCluster(connection())).toEqual([])
})

test.skipIf(Boolean(WHY_NO_CLUSTER))(`a cluster is looked at (${WHY_NO_CLUSTER ?? 'as it is'})`, async () => {
  const { sql } = connection()
  expect(await checkCluster(connection())).toEqual([])
  await sql`select undistribute_table('stats')`
  const [unplaced] = await checkCluster(connection())
  expect(unplaced).toMatchObject({
    level: 'error',
    message: expect.stringMatching(/^1 table \(stats\) is on the coord/),
  })
  await sql`select create_distributed_table('stats', 'organization_id', colocate_with => 'tickets')`
  const [node] = await runAsSuperuser(
    database.url,
    (nodes) => nodes<[{ id: number }]>`
      insert into pg_dist_node (nodename, nodeport, groupid, hasmetadata, metadatasynced, shouldhaveshards)
      values ('127.0.0.1', 1, 999, false, false, false) returning nodeid as id`,
  )
  const [away] = await checkCluster(connection())
  expect(away).toMatchObject({
    level: 'error',
    message: expect.stringContaining('127.0.0.1:1 of the cluster does not'),
  })
  await runAsSuperuser(database.url, (nodes) => nodes`delete from pg_dist_node where nodeid = ${node.id}`)
})

test.skipIf(Boolean(WHY_NO_CLUSTER))(`sizes are those of all machines (${WHY_NO_CLUSTER ?? 'together'})`, async () => {
  const { sql } = connection()
  const [{ own }] = (await sql`select pg_database_size(current_database()) as own`) as [{ own: number }]
  const { postgresql } = await readFigures(connection())
  const [all] = await sql<
    { is_more: boolean }[]
  >`select pg_size_bytes(${postgresql.size}) > ${own}::bigint * 2 as is_more`
  expect(all).toEqual({ is_more: true })
  const { id } = await createOrganization()
  await sql`
    insert into contacts (organization_id, id, name, email, email_key, search)
    select ${id}::uuid, gen_random_uuid(), 'C', n || '@customer.example', n || '@customer.example', '' from generate_series(1, 5000) n`
  expect(await analyzeGrownTables(connection())).toContain('contacts')
  expect(await analyzeGrownTables(connection())).not.toContain('contacts')
})
