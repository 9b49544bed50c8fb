/** Opens clients of the driver, with the settings that every session of the service has. */
import { drizzle, type PostgresJsDatabase } from 'drizzle-orm/postgres-js'
import postgres from 'postgres'
import { APPLICATION_NAME } from './application-name'
import { toInstant } from './columns'
import { type ConnectionOptions, readConnectionUrl } from './connection-url'
import { LIMIT_SETTINGS, onPooler, type TimeLimits } from './pooler'
import type { WireTypes } from './transact'

export type Client = postgres.Sql<WireTypes>

/** Between attempts to connect while the database is away. */
const RECONNECT_MOST_S = 0.5

/** Limits of background jobs, migrations and the operator's commands, which may take long. */
export const NO_LIMITS: TimeLimits = { statement_ms: 0, idle_in_transaction_ms: 0, lock_ms: 0 }

/**
 * Opens a client. It connects with its first statement.
 * @param target a connection URL, or options of postgres.js (embedded database: `{ path }`)
 * @param max connections at most
 * @param own parameters of its sessions, which a pooler may leave out
 * @throws ConnectionUrlError
 */
export function openClient(
  target: string | ConnectionOptions,
  max: number,
  limits: TimeLimits,
  own: Record<string, string> = {},
): Client {
  const given = typeof target === 'string' ? readConnectionUrl(target) : target
  const client = postgres({
    connect_timeout: 10,
    idle_timeout: 0,
    ...given,
    max,
    backoff: reconnectDelay_s,
    onnotice: () => {},
    connection: {
      application_name: APPLICATION_NAME,
      TimeZone: 'UTC',
      // The driver leaves out what is false or 0, so these are texts.
      jit: 'off' as unknown as boolean,
      ...sessionLimits(limits),
      ...own,
      ...given.connection,
    },
  })
  // `speakAsWire` makes the driver return what `WireTypes` promises; the driver's types cannot know that.
  const wired = client as unknown as Client
  speakAsWire(wired)
  onPooler(wired, { is_prepare_given: given.prepare !== undefined, limits })
  return wired
}

function sessionLimits(limits: TimeLimits): Record<string, string> {
  const names = Object.keys(LIMIT_SETTINGS) as (keyof TimeLimits)[]
  return Object.fromEntries(names.map((name) => [LIMIT_SETTINGS[name], String(limits[name])]))
}

/**
 * Gives a client what Drizzle needs beside it, for rows of one table. Drizzle sets the parsers and serializers of the
 * client to its own, so they are set again.
 */
export function openOrm(client: Client): PostgresJsDatabase {
  const orm = drizzle(client)
  speakAsWire(client)
  return orm
}

/** Types whose values are sent as the text that a statement was given: times, and documents that are JSON already. */
const SENT_AS_TEXT = [114, 3802, 1082, 1083, 1114, 1184]

/**
 * Makes values of every client mean the same. Read: times are `YYYY-MM-DDThh:mm:ssZ`, numerics and counts are numbers,
 * as the API shows them. Written: a text stays as it is, so `'{}'` is an empty object of JSON and no string in
 * quotation marks.
 */
function speakAsWire(client: Client): void {
  const { parsers, serializers } = client.options as unknown as Codecs
  parsers[1184] = toInstant
  parsers[1082] = asItIs
  parsers[1700] = Number
  parsers[20] = Number
  for (const type of SENT_AS_TEXT) serializers[type] = asItIs
}

type Codecs = Record<'parsers' | 'serializers', Record<number, (text: string) => unknown>>

function asItIs(text: string): string {
  return text
}

/**
 * Seconds until a lost connection is tried again. The driver's own way counts the failures of all connections together
 * and ends at 20 s, so that after a restart of the database requests would wait long for one that is back.
 */
function reconnectDelay_s(failures: number): number {
  return Math.min(0.01 * 2 ** failures, RECONNECT_MOST_S) * (0.5 + Math.random() / 2)
}
