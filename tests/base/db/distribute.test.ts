/** Spreading a database over a cluster, and migrating it there. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import postgres from 'postgres'
import { distributeDatabase, planDistribution } from '../../../src/base/db/cluster/distribute'
import { findUnplaced, placeTables } from '../../../src/base/db/cluster/place-tables'
import { newId } from '../../../src/base/db/columns'
import { migrateDatabase } from '../../../src/base/db/migrate'
import { sizesOf } from '../../../src/base/db/migration-work'
import { TABLE_KINDS } from '../../../src/base/db/schema'
import { createClusterDatabase, dropDatabase, nodeUrls, runAsSuperuser, WHY_NO_CLUSTER } from '../../support/cluster'
import { createDatabase, templateUrl } from '../../support/database'
import { migrationsBefore } from '../../support/older-migrations'
import { until } from '../../support/service'

const CLI = path.join(import.meta.dirname, '../../../src/cli.ts')

test.skipIf(!WHY_NO_CLUSTER)('a server without Citus is told so', async () => {
  const database = await createDatabase()
  const { blockers, tables } = await planDistribution(database.url)
  expect(blockers).toEqual([expect.stringContaining('has no Citus')])
  expect(tables).toEqual([])
  await expect(distributeDatabase(database.url)).rejects.toThrow('has no Citus')
  await database.drop()
})

describe.skipIf(Boolean(WHY_NO_CLUSTER))(`a cluster${WHY_NO_CLUSTER ? ` (${WHY_NO_CLUSTER})` : ''}`, () => {
  let url: string
  let sql: postgres.Sql

  beforeEach(async () => {
    url = await createClusterDatabase(
      nodeUrls()!,
      templateUrl(),
      `distribute_${crypto.randomUUID().replaceAll('-', '')}`,
    )
    sql = postgres(url, { max: 1, onnotice: () => {} })
  })

  afterEach(async () => {
    await sql.end()
    await dropDatabase(nodeUrls()!, new URL(url).pathname.slice(1))
  })

  test('takes the rows, counts none twice, and leaves none behind', async () => {
    await migrateDatabase(url)
    const { organization_id, tickets } = await fill(sql, 500)
    const before = await tallied(sql)
    const { blockers, tables } = await planDistribution(url)
    expect([blockers, tables.length]).toEqual([[], [...TABLE_KINDS.values()].filter((kind) => kind !== 'local').length])
    expect((await distributeDatabase(url)).tables).toHaveLength(tables.length)
    expect(await tallied(sql)).toEqual(before)
    const found = await sql`select id from tickets where organization_id = ${organization_id} order by id`
    expect(found.map(({ id }) => id)).toEqual(tickets)
    const [left] = await sql`
      select sum(pg_relation_size(oid))::int as bytes from pg_class where oid in ('tickets'::regclass, 'contacts'::regclass)`
    expect(left).toEqual({ bytes: 0 })
    await sql`analyze organizations, tickets`
    const sizes = await sizesOf(sql, ['organizations', 'tickets'])
    expect(sizes.map(({ table, rows }) => [table, rows]).toSorted()).toEqual([
      ['organizations', 1],
      ['tickets', 500],
    ])
    expect((await distributeDatabase(url)).tables).toEqual([])
  })

  test('has all keys, and clears nothing by itself', async () => {
    await migrateDatabase(url)
    const keys = () => sql`
      select conname, regexp_replace(pg_get_constraintdef(oid), ' ON DELETE SET NULL \\([^)]*\\)', '') as definition
      from pg_constraint
      where contype = 'f' and connamespace = 'public'::regnamespace and conname !~ '_[0-9]+$' order by 1`
    const before = [...(await keys())]
    await distributeDatabase(url)
    expect([...(await keys())]).toEqual(before)
    const [cleared] = await sql`select count(*)::int as n from pg_constraint where confdeltype = 'n'`
    expect(cleared).toEqual({ n: 0 })
  })

  test('is migrated on: a new table is placed by its kind, triggers are put on every machine', async () => {
    const folder = migrationsBefore('_no_fills')
    await migrateDatabase(url, folder)
    fs.rmSync(folder, { recursive: true })
    await sql.begin(async (inner) => placeTables(inner, await findUnplaced(inner)))
    await migrateDatabase(url)
    expect(await findUnplaced(sql)).toEqual([])
    const { organization_id } = await fill(sql, 2)
    expect(await tallied(sql)).toEqual({ [organization_id]: 2 })
    await sql`insert into stats (organization_id, size_s, at) values (${organization_id}, 60, now())`
    await sql`insert into audit_log ${sql({ organization_id, id: newId(), actor_type: 'system', action: 'x' })}`
    const refused = sql`delete from audit_log where organization_id = ${organization_id}`
    expect(await refused.catch(({ message }) => message)).toBe('audit_log is append-only')
  })

  test('stays as it was when the command is killed, and is distributed by the next one', async () => {
    await migrateDatabase(url)
    const { organization_id } = await fill(sql, 5000)
    const command = spawn(process.execPath, [CLI, 'distribute'], {
      env: { ...process.env, DATABASE_URL: url, SECRET_KEY: 'a secret key that only tests use', NODE_ENV: 'test' },
      stdio: 'ignore',
    })
    const ended = new Promise((resolve) => command.on('exit', (_, signal) => resolve(signal)))
    const isAtWork = async () => {
      const rows = await sql`
        select 1 from pg_stat_activity where datname = current_database() and query like '%create_distributed_table%'
          and pid <> pg_backend_pid()`
      return rows.length > 0
    }
    await until('it copies rows', isAtWork)
    command.kill('SIGKILL')
    expect(await ended).toBe('SIGKILL')
    const count = async () =>
      (await sql`select count(*)::int as n from tickets where organization_id = ${organization_id}`)[0]
    // The server notices the lost client with its next message.
    expect(await count()).toEqual({ n: 5000 })
    expect(await sql`select 1 from pg_dist_partition`).toHaveLength(0)
    await until('the server has noticed that it lost its client', async () => !(await isAtWork()))
    await distributeDatabase(url)
    expect(await count()).toEqual({ n: 5000 })
    expect(await findUnplaced(sql)).toEqual([])
  })

  test('keeps its triggers when an organization gets a shard of its own, which moves to another machine', async () => {
    await migrateDatabase(url)
    await distributeDatabase(url)
    const { organization_id } = await fill(sql, 2)
    await runAsSuperuser(url, (nodes) => isolateAndMove(nodes, organization_id))
    const id = newId()
    await sql`insert into tickets ${sql({ organization_id, id, number: 3, code: id, subject: 'x' })}`
    expect(await tallied(sql)).toEqual({ [organization_id]: 3 })
    await sql`insert into audit_log ${sql({ organization_id, id: newId(), actor_type: 'system', action: 'x' })}`
    for (const statement of [
      sql`update audit_log set action = 'y' where organization_id = ${organization_id}`,
      sql`delete from audit_log where organization_id = ${organization_id}`,
      sql`truncate audit_log`,
    ]) {
      expect(await statement.catch(({ message }) => message)).toBe('audit_log is append-only')
    }
    const [refused] = await sql`select 1 from tickets where organization_id = ${organization_id} and never()`
    expect(refused).toBeUndefined()
  })

  test('waits for no service: it says that one is connected', async () => {
    await migrateDatabase(url)
    const service = postgres(url, { max: 1, connection: { application_name: 'deskwire' } })
    await service`select 1`
    expect((await planDistribution(url)).blockers).toEqual([expect.stringContaining('a service is connected')])
    await expect(distributeDatabase(url)).rejects.toThrow('a service is connected')
    await service.end()
  })
})

/** As the guide says it, for one organization. */
async function isolateAndMove(nodes: postgres.Sql, organization_id: string) {
  await nodes`select isolate_tenant_to_new_shard('tickets', ${organization_id}::text, 'CASCADE', 'block_writes')`
  const shard = nodes`get_shard_id_for_distribution_column('tickets', ${organization_id}::text)`
  const [from] = await nodes<[{ id: string; host: string; port: number }]>`
    select shardid as id, nodename as host, nodeport as port from citus_shards where shardid = ${shard}`
  const [to] = await nodes<[{ host: string; port: number }]>`
    select nodename as host, nodeport as port from pg_dist_node
    where groupid <> 0 and (nodename, nodeport) <> (${from.host}, ${from.port}) limit 1`
  await nodes`
    select citus_move_shard_placement(${from.id}::bigint, ${from.host}, ${from.port}, ${to.host}, ${to.port}, 'block_writes')`
  const [placed] = await nodes`select nodename as host, nodeport as port from citus_shards where shardid = ${from.id}`
  expect(placed).toEqual(to)
}

/** An organization with so many tickets and contacts. */
async function fill(sql: postgres.Sql, count: number) {
  const organization_id = newId()
  await sql`insert into organizations (id, name) values (${organization_id}, 'Acme')`
  const tickets = Array.from({ length: count }, () => newId())
  for (let at = 0; at < count; at += 1000) {
    const ids = tickets.slice(at, at + 1000)
    const contacts = ids.map((id) => ({ organization_id, id, name: 'x', email: id, email_key: id, search: id }))
    await sql`insert into contacts ${sql(contacts)}`
    const rows = ids.map((id, index) => ({ organization_id, id, number: at + index + 1, code: id, subject: 'x' }))
    await sql`insert into tickets ${sql(rows)}`
  }
  return { organization_id, tickets }
}

/** Numbers of tickets by organization, as triggers have counted them. */
async function tallied(sql: postgres.Sql): Promise<Record<string, number>> {
  const rows = await sql`
    select organization_id as id, sum(n)::int as n from tally_changes where kind = 'tickets' group by 1`
  return Object.fromEntries(rows.map(({ id, n }) => [id, n]))
}
