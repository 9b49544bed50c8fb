/**
 * Counts what a service asks of PostgreSQL: a proxy between the two reads the messages of the protocol (PostgreSQL
 * manual, "Message Formats"). The service needs no code for it, and BEGIN and COMMIT count as well.
 */
import net from 'node:net'
import { closeDatabase, connectDatabase } from '../../src/base/db/pool'
import { startApi } from './api'
import { WHY_NO_CLUSTER } from './cluster'

/** The statements that were sent while some work was done. */
export type Traffic = {
  /** Texts of the statements, in the order in which they were sent. */
  statements: string[]
  /** How often something was asked while no answer was outstanding: round trips, one after the other. */
  waits: number
  /** Statements that several nodes of a cluster answered, where `citus.multi_task_query_log_level` is `notice`. */
  by_several: string[]
}

export type StatementCounter = {
  /** The URL of the database through the proxy. */
  url: string
  /** Returns what is asked until `work` has ended. One work at a time. */
  during(work: () => Promise<unknown>): Promise<Traffic>
  stop(): void
}

/** Statements that are sent at most ten times a second for all requests together, whenever that is. */
const SHARED = /pg_notify/

/**
 * Answers are handed on when all that was asked is answered, and nothing more was asked for so many milliseconds. So
 * the number of waits depends neither on how busy the machine is nor on how fast the server answers.
 */
const QUIET_MS = 3

/** The error of Citus for a statement that several nodes answer. */
const SEVERAL = 'multi-task query'

/**
 * Starts the API, as `startApi` does, on a database that it reaches through a counter.
 * @param in_rounds answers are handed on together (`QUIET_MS`): not where a statement waits for a lock of another
 */
export async function startCountedApi(pool_size: number, in_rounds = false): Promise<StatementCounter> {
  const { url } = await startApi()
  const counter = await startStatementCounter(url, in_rounds)
  await closeDatabase()
  connectDatabase(counter.url, pool_size, { is_cluster: !WHY_NO_CLUSTER })
  return counter
}

/** Starts a proxy before the database of a URL. */
export async function startStatementCounter(database_url: string, in_rounds = false): Promise<StatementCounter> {
  const { hostname, port } = new URL(database_url)
  let traffic: Traffic = { statements: [], waits: 0, by_several: [] }
  let outstanding = 0
  let is_asking = false
  let held: (() => void)[] = []
  const sockets = new Set<net.Socket>()

  let timer: Timer | undefined
  const handOn = () => {
    is_asking = outstanding > 0
    const answers = held
    held = []
    for (const write of answers) write()
  }
  const onAsk = (texts: string[]) => {
    clearTimeout(timer)
    outstanding++
    const counted = texts.filter((text) => !SHARED.test(text))
    if (counted.length === 0) return
    traffic.statements.push(...counted)
    if (!is_asking) traffic.waits++
    is_asking = true
  }

  const server = net.createServer((client) => {
    const database = net.connect(Number(port), hostname)
    const asked = readStatements(
      onAsk,
      () => outstanding--,
      (texts) => traffic.by_several.push(...texts),
    )
    connect(client, database, (chunk) => {
      asked.fromClient(chunk)
      database.write(chunk)
    })
    connect(database, client, (chunk) => {
      asked.fromDatabase(chunk)
      held.push(() => client.write(chunk))
      if (!in_rounds) return handOn()
      clearTimeout(timer)
      if (outstanding === 0) timer = setTimeout(handOn, QUIET_MS)
    })
    for (const socket of [client, database]) sockets.add(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const proxied = new URL(database_url)
  proxied.host = `127.0.0.1:${(server.address() as net.AddressInfo).port}`

  return {
    url: proxied.href,
    async during(work) {
      traffic = { statements: [], waits: 0, by_several: [] }
      await work()
      // Statements that follow are not of this work.
      return { ...traffic, statements: [...traffic.statements], by_several: [...traffic.by_several] }
    },
    stop() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

function connect(from: net.Socket, to: net.Socket, pass: (chunk: Buffer) => void): void {
  from.on('data', pass)
  from.on('error', () => {})
  from.on('close', () => to.destroy())
}

/**
 * Reads both directions of a connection.
 * @param onAsk is called with the statements of each request that the database answers as a whole
 * @param onAnswer is called at the end of each answer
 * @param onSeveral is called with the statements of a request that several nodes answer
 */
function readStatements(onAsk: (texts: string[]) => void, onAnswer: () => void, onSeveral: (texts: string[]) => void) {
  const text_of = new Map<string, string>()
  let bound = ''
  let executed: string[] = []
  let has_begun = false
  /** Requests that have no whole answer yet, oldest first. */
  const unanswered: string[][] = []
  const ask = (texts: string[]) => {
    executed = []
    unanswered.push(texts)
    onAsk(texts)
  }
  return {
    // The first message has no type: it begins a dialogue about the password.
    fromClient: messages(0, (type, body) => {
      if (type === 'P') text_of.set(word(body), word(body, 1))
      if (type === 'B') bound = word(body, 1)
      if (type === 'E') executed.push(text_of.get(bound) ?? '')
      if (type === 'Q') ask([word(body)])
      if (type === 'S') ask(executed)
    }),
    fromDatabase: messages(1, (type, body) => {
      if (type === 'N' && body.includes(SEVERAL)) onSeveral(unanswered[0] ?? [])
      if (type !== 'Z') return
      if (has_begun) {
        unanswered.shift()
        onAnswer()
      }
      has_begun = true
    }),
  }
}

/** Returns one of the texts that a message begins with: each ends with a zero byte. */
function word(body: Buffer, index = 0): string {
  return body.toString('utf8').split('\0')[index] ?? ''
}

/** Cuts a stream into messages. @param type_length of the first message: 0 when it has no type */
function messages(type_length: number, onMessage: (type: string, body: Buffer) => void) {
  let rest: Buffer = Buffer.alloc(0)
  return (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk])
    for (;;) {
      if (rest.length < type_length + 4) return
      const end = type_length + rest.readUInt32BE(type_length)
      if (rest.length < end) return
      onMessage(rest.toString('latin1', 0, type_length), rest.subarray(type_length + 4, end))
      rest = rest.subarray(end)
      type_length = 1
    }
  }
}
