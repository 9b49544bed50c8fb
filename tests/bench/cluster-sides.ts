/**
 * The two sides of `bun run bench cluster`: a service with a database on one server, and one with a database on all of
 * them.
 */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { distributeDatabase } from '../../src/base/db/cluster/distribute'
import { migrateDatabase } from '../../src/base/db/migrate'
import type { Sql } from '../../src/base/db/transact'
import { SYSTEM } from '../../src/base/scope'
import { createClusterDatabase, dropDatabase, findNodes } from '../support/cluster'
import { insertContacts } from '../support/many-tickets'
import { runOnDatabase, runOnServer, withDatabase } from '../support/on-server'
import { type Service, startService } from '../support/service'
import { type SmtpSink, sendInSession, startSession, startSmtpSink } from '../support/smtp'
import { treeOf } from './processes'

export type Side = {
  url: string
  contact_id: string
  label_id: string
  /** The path of a ticket that `fillTickets` has made. */
  anyTicket(): string
  /** @throws Error when the answer is no success */
  send(method: string, path: string, body?: unknown): Promise<void>
  /** Sends a POST in any organization. @returns the id of what it made @throws Error when the answer is no success */
  request(method: string, path: string, body: object, organization_id: string): Promise<string>
  /** Sends a mail of a new sender in the session that is open. Resolves when the ticket is committed. */
  fileMail(): Promise<void>
  /** Processor time so far, in milliseconds. */
  cpu(): ClusterCpu
  tickets: string[]
}

/** Processor time of both services, the coordinator's server and all workers. Zero for a server on another machine. */
export type ClusterCpu = { service: number; coordinator: number; workers: number }

const MAILBOX = 'support@desk.example'
const FILED = '"msg":"email filed"'
/** Fixed names: what a broken run leaves, the next one removes. */
const [PLAIN, CLUSTER] = ['deskwire_bench_plain', 'deskwire_bench_cluster']
const CLIENTS = 8

/** Makes both databases and starts a service on each. `stop` removes all of it. */
export async function startSides(coordinator_url: string) {
  const nodes = await findNodes(coordinator_url)
  const services: Service[] = []
  const folder = fs.mkdtempSync(path.join(process.env.TMPDIR ?? os.tmpdir(), 'cluster-'))
  // As root the services run as another user, who has to get in.
  fs.chmodSync(folder, 0o711)
  const dropAll = async () => {
    await dropDatabase(nodes.slice(0, 1), PLAIN)
    await dropDatabase(nodes, CLUSTER)
  }
  const stop = async () => {
    for (const service of services) await service.stop()
    sink[Symbol.dispose]()
    await dropAll()
    fs.rmSync(folder, { recursive: true, force: true })
  }
  const [coordinator, ...workers] = await Promise.all(nodes.map(pidOf))
  const sink = await startSmtpSink()
  const start = async (url: string) => {
    const DATA_DIR = path.join(folder, new URL(url).pathname)
    const service = await startService({
      DATABASE_URL: url,
      DATA_DIR,
      SECRET_KEY: crypto.randomUUID(),
      LOG_LEVEL: 'info',
    })
    services.push(service)
    const cpu = () => ({
      service: millisecondsOf(services.map(({ process }) => process.pid!)),
      coordinator: millisecondsOf([coordinator!]),
      workers: millisecondsOf(workers),
    })
    return { ...(await fillSide(url, service, sink)), cpu }
  }
  try {
    await dropAll()
    await runOnServer(coordinator_url, (server) => server`create database ${server(PLAIN)}`)
    const plain = await start(withDatabase(coordinator_url, PLAIN))
    const url = await createClusterDatabase(nodes, nodes[0]!, CLUSTER)
    await migrateDatabase(url)
    await distributeDatabase(url)
    return { plain, cluster: await start(url), workers: nodes.length - 1, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** The process id of a server, as its machine counts. */
function pidOf(node_url: string): Promise<number> {
  return runOnServer(node_url, async (server) => {
    const [file] = await server<{ pid: number }[]>`
      select split_part(pg_read_file('postmaster.pid'), chr(10), 1)::int as pid`
    return file!.pid
  })
}

function millisecondsOf(pids: number[]): number {
  return pids.flatMap(treeOf).reduce((sum, { cpu_ms }) => sum + cpu_ms, 0)
}

async function fillSide(url: string, service: Service, sink: SmtpSink): Promise<Omit<Side, 'cpu'>> {
  const call = async (method: string, path: string, body?: unknown) => {
    const { status, body: answer } = await service.call(method, path, body)
    if (status >= 300) throw new Error(`${method} ${path} answered ${status}: ${JSON.stringify(answer)}`)
    return answer
  }
  const create = async (path: string, body: object): Promise<string> => (await call('POST', path, body)).data.id
  await create('/mailboxes', {
    address: MAILBOX,
    name: 'Support',
    smtp: { host: '127.0.0.1', port: sink.port, security: 'none' },
  })
  const session = await startSession(service.smtp_port)
  const tickets: string[] = []
  return {
    url,
    contact_id: await create('/contacts', { name: 'Carla', email: 'carla@customer.example' }),
    label_id: await create('/labels', { name: 'Hardware', color: '#EF4444' }),
    tickets,
    anyTicket: () => `/tickets/${tickets[Math.floor(Math.random() * tickets.length)]}`,
    send: async (...request) => void (await call(...request)),
    async request(method, path, body, organization_id) {
      const answer = await fetch(`${service.url}/api/v1${path}`, {
        method,
        headers: {
          authorization: `Bearer ${service.token()}`,
          'x-organization-id': organization_id,
          'content-type': 'application/json',
        },
        body: JSON.stringify(body),
      })
      if (answer.status !== 201) throw new Error(`${method} ${path} answered ${answer.status}: ${await answer.text()}`)
      return ((await answer.json()) as { data: { id: string } }).data.id
    },
    async fileMail() {
      const filed = nextLine(service, FILED)
      const from = `${crypto.randomUUID()}@customer.example`
      const head = `From: ${from}\r\nTo: ${MAILBOX}\r\nSubject: It does not print\r\nMessage-ID: <${from}>\r\n\r\n`
      const { code, response } = await sendInSession(session, { from, to: MAILBOX, raw: `${head}What shall I do?\r\n` })
      if (code !== 250) throw new Error(`a mail was refused: ${response}`)
      await filed
    },
  }
}

/** Resolves when the log has one more line with this text. */
function nextLine({ process: { stdout } }: Service, text: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let unread = ''
  const look = (bytes: Buffer) => {
    unread += bytes
    if (!unread.includes(text)) return
    stdout!.off('data', look)
    resolve()
  }
  stdout!.on('data', look)
  return promise
}

/** Creates tickets, several at a time, and remembers the newest ones. */
export async function fillTickets({ url, tickets }: Side, count: number, create: () => Promise<void>): Promise<void> {
  let left = count
  const client = async () => {
    while (left-- > 0) await create()
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  await runOnDatabase(url, async (sql) => {
    const rows = await sql<{ id: string }[]>`select id from tickets`
    tickets.push(...rows.map(({ id }) => id))
    await sql`analyze`
  })
}

/** Inserts contacts into the only organization. */
export async function fillContacts({ url }: Side, count: number): Promise<void> {
  await runOnDatabase(url, async (client) => {
    const [organization] = await client<{ id: string }[]>`select id from organizations`
    const sql = client as unknown as Sql
    await insertContacts({ sql, db: undefined as never, organization_id: organization!.id, actor: SYSTEM }, count)
    await client`analyze`
  })
}
