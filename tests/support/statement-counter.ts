/**
 * Counts what a service asks of PostgreSQL: a proxy between the two reads the messages of the protocol (PostgreSQL
 * manual, "Message Formats"). The service needs no code for it, and BEGIN and COMMIT count as well.
 */
import net from 'node:net'
import { closeDatabase, connectDatabase } from '../../src/db/pool'
import { startApi } from './api'

/** What was asked while some work was done. */
export type Traffic = {
  /** Texts of the statements, in the order in which they were sent. */
  statements: string[]
  /** How often something was asked while no answer was outstanding: round trips, one after the other. */
  waits: number
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

/** Starts the API, as `startApi` does, on a database that it reaches through a counter. */
export async function startCountedApi(pool_size: number): Promise<StatementCounter> {
  const { url } = await startApi()
  const counter = await startStatementCounter(url)
  await closeDatabase()
  connectDatabase(counter.url, pool_size)
  return counter
}

/** Starts a proxy before the database of a URL. */
async function startStatementCounter(database_url: string): Promise<StatementCounter> {
  const { hostname, port } = new URL(database_url)
  let traffic: Traffic = { statements: [], waits: 0 }
  let outstanding = 0
  const sockets = new Set<net.Socket>()

  const server = net.createServer((client) => {
    const database = net.connect(Number(port), hostname)
    const asked = readStatements(
      (texts) => {
        const counted = texts.filter((text) => !SHARED.test(text))
        traffic.statements.push(...counted)
        if (counted.length > 0 && outstanding === 0) traffic.waits++
        outstanding++
      },
      () => outstanding--,
    )
    connect(client, database, asked.fromClient)
    connect(database, client, asked.fromDatabase)
    for (const socket of [client, database]) sockets.add(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const proxied = new URL(database_url)
  proxied.host = `127.0.0.1:${(server.address() as net.AddressInfo).port}`

  return {
    url: proxied.href,
    async during(work) {
      traffic = { statements: [], waits: 0 }
      await work()
      // What follows is not of this work.
      return { ...traffic, statements: [...traffic.statements] }
    },
    stop() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

function connect(from: net.Socket, to: net.Socket, note: (chunk: Buffer) => void): void {
  from.on('data', (chunk: Buffer) => {
    note(chunk)
    to.write(chunk)
  })
  from.on('error', () => {})
  from.on('close', () => to.destroy())
}

/**
 * Reads both directions of a connection.
 * @param onAsk is called with the statements of each request that the database answers as a whole
 * @param onAnswer is called at the end of each answer
 */
function readStatements(onAsk: (texts: string[]) => void, onAnswer: () => void) {
  const text_of = new Map<string, string>()
  let bound = ''
  let executed: string[] = []
  const ask = (texts: string[]) => {
    executed = []
    onAsk(texts)
  }
  return {
    // The first message has no type. It is answered as a whole, like a request.
    fromClient: messages(0, (type, body) => {
      if (type === '') ask([])
      if (type === 'P') text_of.set(word(body), word(body, 1))
      if (type === 'B') bound = word(body, 1)
      if (type === 'E') executed.push(text_of.get(bound) ?? '')
      if (type === 'Q') ask([word(body)])
      if (type === 'S') ask(executed)
    }),
    fromDatabase: messages(1, (type) => {
      if (type === 'Z') onAnswer()
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
