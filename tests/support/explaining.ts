/** Plans of statements as they were run, for tests of what a statement reads. */
import postgres from 'postgres'
import type { Sql } from '../../src/base/db/transact'

/** A node of a plan, as `explain (format json)` shows it. */
type Node = {
  'Node Type': string
  'Relation Name'?: string
  /** The values that it gives. */
  Output?: string[]
  'Actual Rows': number
  'Actual Loops': number
  'Shared Hit Blocks': number
  'Shared Read Blocks': number
  Plans?: Node[]
}

/** Time in which statements of others end, which keep vacuum from the rows that they may see. */
const QUIET_MS = 180_000
const TABLES = "relkind = 'r' and relnamespace = 'public'::regnamespace"

export type Explaining = Awaited<ReturnType<typeof openExplaining>>

/**
 * A connection that notes the plan of each statement, just as it was run. Autovacuum leaves the tables of the database
 * alone from now on: the plans follow from what tests write and from `settle`.
 */
export async function openExplaining(url: string) {
  let plans: Node[] = []
  const client = postgres(url, {
    max: 1,
    onnotice: ({ message }) => {
      const [, json] = /plan:\n(.*)/s.exec(message ?? '') ?? []
      if (json) plans.push(JSON.parse(json).Plan)
    },
  })
  const parsers = client.options.parsers as Record<number, (text: string) => unknown>
  parsers[20] = Number
  const sql = client as unknown as Sql
  await client.unsafe(`
    do $$ declare name name; begin
      for name in select relname from pg_class where ${TABLES}
      loop execute format('alter table %I set (autovacuum_enabled = false)', name); end loop;
    end $$`)
  return {
    sql,
    /** Vacuums and analyzes all tables, until every row is marked as seen by all: an index alone is read then. */
    async settle(): Promise<void> {
      const before = Date.now() + QUIET_MS
      let unmarked: unknown[] = []
      do {
        // Without it, few dead rows are left where they are, and their pages unmarked, however often it is run.
        await client`vacuum (analyze, index_cleanup on)`
        unmarked = await client.unsafe(`select relname from pg_class where ${TABLES} and relallvisible < relpages`)
      } while (unmarked.length > 0 && Date.now() < before)
      if (unmarked.length > 0) throw new Error(`Not seen by all: ${JSON.stringify(unmarked)}`)
    },
    /**
     * Vacuums and analyzes what `write` has written, none of which is marked as seen by all: as if a backup ran
     * meanwhile.
     */
    async settleBesideBackup<T>(write: () => Promise<T>): Promise<T> {
      const backup = postgres(url, { max: 1 })
      try {
        return (await backup.begin('isolation level repeatable read', async (transaction) => {
          await transaction`select`
          const written = await write()
          await client`vacuum analyze`
          return written
        })) as T
      } finally {
        await backup.end()
      }
    },
    async start(): Promise<void> {
      await client`load 'auto_explain'`
      for (const [name, value] of Object.entries(SETTINGS)) await client`select set_config(${name}, ${value}, false)`
    },
    /** The plans of what `work` runs. */
    async plansOf(work: () => Promise<unknown>): Promise<Node[]> {
      plans = []
      await work()
      return plans
    },
    close: () => client.end(),
  }
}

const SETTINGS = {
  'auto_explain.log_min_duration': '0',
  'auto_explain.log_analyze': 'on',
  'auto_explain.log_buffers': 'on',
  'auto_explain.log_timing': 'off',
  'auto_explain.log_verbose': 'on',
  'auto_explain.log_format': 'json',
  'auto_explain.log_level': 'notice',
}

/** A plan as a list of its nodes. */
export function nodesOf(node: Node): Node[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)]
}

/** Each access to a table, such as `Index Scan outbox`. */
export function scansOf(node: Node): string[] {
  const tables = nodesOf(node).filter((one) => one['Relation Name'])
  return [...new Set(tables.map((one) => `${one['Node Type']} ${one['Relation Name']}`))].toSorted()
}

/** Pages read, from the cache or not. */
export function pagesOf(node: Node): number {
  return node['Shared Hit Blocks'] + node['Shared Read Blocks']
}
