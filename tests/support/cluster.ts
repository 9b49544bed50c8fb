/** Databases on a Citus cluster, whose coordinator `CITUS_URL` names: each is made on every node. */
import type postgres from 'postgres'
import { countServices } from '../../src/base/db/cluster/blockers'
import { runOnDatabase, runOnServer, withDatabase } from './on-server'
import { until } from './service'

/** A node of the cluster, as `pg_dist_node` knows it. */
type Node = { host: string; port: number; is_coordinator: boolean }

/** URLs of the coordinator and of its workers, in this order, as JSON: set by the test runner. */
export const NODE_URLS = 'DESKWIRE_TEST_NODE_URLS'

/** The nodes that the tests run on; undefined on plain PostgreSQL. */
export function nodeUrls(): string[] | undefined {
  const urls = process.env[NODE_URLS]
  return urls === undefined ? undefined : JSON.parse(urls)
}

/** Why tests of a cluster are left out; undefined when there is one. */
export const WHY_NO_CLUSTER = process.env[NODE_URLS] ? undefined : 'there is no cluster: CITUS_URL'

/** URLs of every node, the coordinator first. @param coordinator_url a database with Citus that knows its workers */
export async function findNodes(coordinator_url: string): Promise<string[]> {
  const nodes = await runOnDatabase(
    coordinator_url,
    (database) => database<Node[]>`
      select nodename as host, nodeport as port, groupid = 0 as is_coordinator from pg_dist_node where isactive
      order by groupid`,
  )
  const workers = nodes.filter((node) => !node.is_coordinator)
  if (workers.length === 0) throw new Error('CITUS_URL names a database that knows no workers (citus_add_node)')
  return [coordinator_url, ...workers.map((node) => urlOfNode(coordinator_url, node))]
}

/**
 * Makes a role that may make databases and own them, as that of an operator's `DATABASE_URL`, on every node.
 * @returns the URL of the coordinator with its name and password
 */
export async function createOwner(node_urls: string[], name: string): Promise<string> {
  const password = crypto.randomUUID()
  await onEveryNode(node_urls, (server) =>
    server.unsafe(`${HERE_ALONE}; create role ${name} login createdb password '${password}'`),
  )
  const url = new URL(node_urls[0]!)
  url.username = name
  url.password = password
  return url.href
}

/** Removes a role from every node, with its databases: a test that has failed leaves one. */
export async function dropOwner(node_urls: string[], name: string): Promise<void> {
  await onEveryNode(node_urls, async (server) => {
    const databases = await server<{ name: string }[]>`
      select datname as name from pg_database where pg_get_userbyid(datdba) = ${name}`
    for (const database of databases) await server`drop database ${server(database.name)} with (force)`
    await server.unsafe(`${HERE_ALONE}; drop role if exists ${name}`)
  })
}

/** Citus would make a role on the workers, too, or not, by what is in the database of the connection. */
const HERE_ALONE = 'set citus.enable_create_role_propagation = off'

/** Runs statements on the coordinator as a superuser. @param url a database of an owner */
export function runAsSuperuser<T>(url: string, work: (database: postgres.Sql) => Promise<T>): Promise<T> {
  return runOnDatabase(withDatabase(nodeUrls()![0]!, new URL(url).pathname.slice(1)), work)
}

/**
 * Makes a database with Citus on every node, and tells the coordinator of the workers.
 * @param owner_url of `createOwner`, or of a superuser
 * @returns its URL for the owner
 */
export async function createClusterDatabase(node_urls: string[], owner_url: string, name: string): Promise<string> {
  const { username, password } = new URL(owner_url)
  await onEveryNode(node_urls, (server) => server`create database ${server(name)} owner ${server(username)}`)
  const urls = node_urls.map((url) => withDatabase(url, name))
  const prepare = async (database: postgres.Sql) => {
    await database`create extension citus`
    if (password) await database`insert into pg_dist_authinfo values (0, ${username}, ${`password=${password}`})`
  }
  await Promise.all(urls.map((url) => runOnDatabase(url, prepare)))
  await runOnDatabase(urls[0]!, async (database) => {
    const [coordinator, ...workers] = urls.map((url) => new URL(url))
    await database`select citus_set_coordinator_host(${coordinator!.hostname}, ${Number(coordinator!.port)})`
    for (const { hostname, port } of workers) await database`select citus_add_node(${hostname}, ${Number(port)})`
  })
  return withDatabase(owner_url, name)
}

/** Lets nobody in any more, not even the maintenance of Citus, so that the database can be copied. */
export async function closeDatabase(node_urls: string[], name: string): Promise<void> {
  await onEveryNode(node_urls, async (server) => {
    await server`alter database ${server(name)} with allow_connections false`
    await server`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${name}`
  })
}

/**
 * Copies a closed database on every node: its shards have the same names there.
 * @param template_url of its owner
 * @returns the URL of the copy
 */
export async function copyDatabase(node_urls: string[], template_url: string, name: string): Promise<string> {
  const { pathname, username } = new URL(template_url)
  const template = pathname.slice(1)
  await onEveryNode(
    node_urls,
    (server) =>
      server`create database ${server(name)} owner ${server(username)} template ${server(template)} strategy file_copy`,
  )
  return withDatabase(template_url, name)
}

/** Waits until the server has seen that all connections of the service are closed: it notices a moment later. */
export async function waitForNoService(url: string): Promise<void> {
  await runOnDatabase(url, (database) =>
    until('the service is gone', async () => (await countServices(database)) === 0),
  )
}

/** Removes a database from every node. */
export async function dropDatabase(node_urls: string[], name: string): Promise<void> {
  await onEveryNode(node_urls, (server) => server`drop database if exists ${server(name)} with (force)`)
}

function onEveryNode(node_urls: string[], work: (server: postgres.Sql) => Promise<unknown>) {
  return Promise.all(node_urls.map((url) => runOnServer(url, async (server) => void (await work(server)))))
}

function urlOfNode(coordinator_url: string, { host, port }: Node): string {
  const url = new URL(coordinator_url)
  url.hostname = host
  url.port = String(port)
  return url.href
}
