/**
 * Watches every statement that the driver runs, from the moment it is handed to a connection or to the queue of the
 * pool. The driver has no hook for the end of a statement (its `debug` is called with the text before one begins), so
 * `handle` of its class for statements is replaced. tests/base/metrics/metrics.test.ts fails when that does not work
 * any more.
 */
import type { Sql } from './transact'

/** The first word of a statement, in lower case. */
type StatementWord = (typeof WORDS)[number]

const WORDS = ['select', 'insert', 'update', 'delete', 'with', 'begin', 'commit', 'rollback', 'other'] as const

/** Called at the begin of a statement. What it returns is called at the end. */
type StatementWatcher = (word: StatementWord) => (error?: unknown) => void

/** A statement of the driver. */
type DriverQuery = {
  executed: boolean
  strings: readonly string[]
  resolve: (result: unknown) => void
  reject: (error: unknown) => void
  handle(): Promise<void>
}

const watchers: StatementWatcher[] = []
const words = new WeakMap<readonly string[], StatementWord>()

/** Calls a watcher for each statement of this process from now on. Costs nothing before the first call. */
export function watchStatements(sql: Sql, watcher: StatementWatcher): void {
  watchers.push(watcher)
  if (watchers.length > 1) return
  // A statement that nobody waits for is never sent.
  const statement = Object.getPrototypeOf(sql`select`) as DriverQuery
  const { handle } = statement
  statement.handle = function (this: DriverQuery) {
    if (!this.executed) watch(this)
    return handle.call(this)
  }
}

function watch(query: DriverQuery): void {
  const { resolve, reject } = query
  const word = wordOf(query.strings)
  const ends = watchers.map((watcher) => watcher(word))
  query.resolve = (result) => {
    for (const end of ends) end()
    resolve(result)
  }
  query.reject = (error) => {
    for (const end of ends) end(error)
    reject(error)
  }
}

/** Statements of the product are templates: each is looked at once. */
function wordOf(strings: readonly string[]): StatementWord {
  const known = words.get(strings)
  if (known) return known
  const first = /^\s*([a-z]+)/i.exec(strings[0] ?? '')?.[1]?.toLowerCase()
  const word = WORDS.find((word) => word === first) ?? 'other'
  words.set(strings, word)
  return word
}
