/**
 * Adapts to a pooler such as PgBouncer in transaction mode, which gives each transaction any session of the server.
 *
 * The driver looks at each new connection (`patches/`): a session whose process has another number than the one that
 * the server announced at the start is behind a pooler. If the server knows our statement by the name that we gave it,
 * the pooler does not keep track of prepared statements: in another session the name means nothing, so none is
 * prepared. PgBouncer from 1.21 on with `max_prepared_statements` gives them names of its own.
 */
import { log } from '../log'

/**
 * Times after which the server ends a statement, a transaction that does nothing, or a wait for a lock. 0 sets none.
 */
export type TimeLimits = { statement_ms: number; idle_in_transaction_ms: number; lock_ms: number }

/** The settings of PostgreSQL that they are. */
export const LIMIT_SETTINGS: Record<keyof TimeLimits, string> = {
  statement_ms: 'statement_timeout',
  idle_in_transaction_ms: 'idle_in_transaction_session_timeout',
  lock_ms: 'lock_timeout',
}

/** A client of the driver, or one of its transactions. */
type Client = object
type Options = { prepare: boolean; pooled?: boolean; onpooler?(names_pass: boolean): void }

/** The limits of clients behind a pooler, by their options. */
const limits_of = new WeakMap<Options, TimeLimits>()
/** Limits of the transactions of a client that are not those of its sessions. */
const own_of = new WeakMap<Client, Partial<TimeLimits>>()

let is_reported = false

/** Prepares a client for a pooler that may be found at any of its connections. */
export function onPooler(
  client: Client,
  { is_prepare_given, limits }: { is_prepare_given: boolean; limits: TimeLimits },
): void {
  const options = optionsOf(client)
  // Asking for prepared statements promises that each connection keeps its session.
  if (is_prepare_given && options.prepare) return
  options.onpooler = (names_pass) => {
    // PgBouncer 1.18 loses the description of a statement that was sent behind another: the driver would wait without
    // end.
    options.pooled = true
    if (names_pass) options.prepare = false
    limits_of.set(options, limits)
    if (is_reported) return
    is_reported = true
    log.warn({ prepared_statements: options.prepare }, explain(options.prepare))
  }
}

/** True when a connection of the client has led to a pooler. */
export function isPooled(client: Client): boolean {
  return limits_of.has(optionsOf(client))
}

/** Gives the transactions of a client limits of their own, beside those of its sessions. */
export function setOwnLimits(client: Client, limits: Partial<TimeLimits>): void {
  own_of.set(client, limits)
}

/** Statements with which each transaction of a client begins: behind a pooler it has no session of its own. */
export function limitsOfTransaction(client: Client): string | undefined {
  const pooled = limits_of.get(optionsOf(client))
  const limits = Object.entries({ ...pooled, ...own_of.get(client) }) as [keyof TimeLimits, number][]
  const settings = limits.map(([name, ms]) => `set local ${LIMIT_SETTINGS[name]} = ${ms}`)
  return [...(pooled ? ['set local jit = off'] : []), ...settings].join('; ') || undefined
}

/** Prepares no statements any more. For a pooler that has lost one. */
export function stopPreparing(client: Client): void {
  optionsOf(client).prepare = false
}

/** The driver reads them again for each statement and each connection. */
function optionsOf(client: Client): Options {
  return (client as { options: Options }).options
}

function explain(prepares: boolean): string {
  return (
    `the database is behind a pooler: ${prepares ? 'it keeps track of prepared statements' : 'statements are not prepared'}. ` +
    'Set DATABASE_DIRECT_URL to the database itself, for migrations and for notices between processes, and give the role ' +
    "of the pooler its limits: ALTER ROLE … SET jit = off, SET statement_timeout = '30s'"
  )
}
