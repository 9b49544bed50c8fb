/** Work over all organizations, while a node of a cluster is away. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { inEach, readOfAll, workOff } from '../../../src/base/db/all-organizations'
import { setMachines } from '../../../src/base/db/cluster/away'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { startApi, stopApi } from '../../support/api'
import { nodeUrls } from '../../support/cluster'
import { until } from '../../support/service'

const AWAY = Object.assign(new Error('connection to the remote node failed'), { code: '08006' })

beforeAll(() => startApi())
afterAll(stopApi)

test('work that fails in an organization stops no other, and is told once all have ended', async () => {
  const ended: string[] = []
  const work = inEach(['a', 'b', 'c'], async (id) => {
    if (id === 'a') throw new Error('broken')
    await Bun.sleep(5)
    ended.push(id)
  })
  expect(work).rejects.toThrow('broken')
  await work.catch(() => {})
  expect(ended.sort()).toEqual(['b', 'c'])
})

test('an organization whose node is away is left out', async () => {
  const results = await inEach(['a', 'b', 'c'], async (id) => {
    if (id === 'b') throw AWAY
    return id
  })
  expect(results).toEqual(['a', 'c'])
})

test('an organization on a machine that is known to be away is not tried', async () => {
  setMachines([{ name: 'there', is_up: false }], ['b'])
  try {
    expect(await inEach(['a', 'b', 'c'], async (id) => id)).toEqual(['a', 'c'])
  } finally {
    setMachines([], [])
  }
})

test('work goes on until nothing can be done any more', async () => {
  const left = new Map([
    ['a', 3],
    ['b', 1],
    ['locked', 1],
  ])
  const find = async () => [...left.keys()].map((organization_id) => ({ organization_id }))
  const done = await workOff(connection().sql, find, async (id) => {
    if (id === 'locked') return 0
    const n = left.get(id)!
    if (n === 1) left.delete(id)
    else left.set(id, n - 1)
    return 1
  })
  expect(done).toBe(4)
  expect([...left.keys()]).toEqual(['locked'])
})

// A cluster of tests has all its nodes: its tables and an error of it are made here.
test.skipIf(nodeUrls() !== undefined)('a read of all is answered by the nodes that are there', async () => {
  const { sql } = connection()
  const [here, there] = [newId(), newId()]
  await sql.unsafe(`
    insert into organizations (id, name) values ('${here}', 'Here'), ('${there}', 'There');
    create table pg_dist_shard (logicalrelid regclass, shardid bigint);
    create table pg_dist_placement (shardid bigint, groupid integer);
    create table pg_dist_node (groupid integer, nodename text, nodeport integer, noderole text);
    insert into pg_dist_shard values ('outbox', 1), ('outbox', 2);
    insert into pg_dist_placement values (1, 1), (2, 2);
    insert into pg_dist_node values (1, 'here', 5432, 'primary'), (2, 'there', 5432, 'primary');
    create function get_shard_id_for_distribution_column(regclass, uuid) returns bigint language sql
      as $$ select case when $2 = '${here}' then 1 else 2 end $$;
    create table away (organization_id uuid);
    insert into away values ('${there}');
    create function reach(id uuid) returns boolean language plpgsql as $$ begin
      if exists (select from away where organization_id = id) then
        raise exception using errcode = '08006', message = 'connection to the remote node failed';
      end if;
      return true;
    end $$`)
  const read = () =>
    readOfAll(
      sql,
      (among) => sql<{ id: string }[]>`select id from organizations where reach(id) ${among(sql`id`)} order by id`,
    )
  expect([...(await read())]).toEqual([{ id: here }])
  await sql`truncate away`
  await until('it is asked again', async () => (await read()).length === 2)
  // A machine that hangs answers nothing: it is not asked.
  setMachines([{ name: 'there:5432', is_up: false }], [there])
  expect([...(await read())]).toEqual([{ id: here }])
  setMachines([], [])
  await until('it is asked again', async () => (await read()).length === 2)
  const found = await read()
  expect(found.map(({ id }) => id).sort()).toEqual([here, there].sort())
})
