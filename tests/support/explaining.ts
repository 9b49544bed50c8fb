/** Plans of statements as they were run, for tests of what a statement reads. */
import postgres from 'postgres'
import type { Sql } from '../../src/db/transact'

/** A node of a plan, as `explain (format json)` shows it. */
type Node = {
  'Node Type': string
  'Relation Name'?: string
  'Shared Hit Blocks': number
  'Shared Read Blocks': number
  Plans?: Node[]
}

/** A connection that notes the plan of each statement, just as it was run. */
export function openExplaining(url: string) {
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
  return {
    sql,
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
  'auto_explain.log_format': 'json',
  'auto_explain.log_level': 'notice',
}

/** Each access to a table, such as `Index Scan outbox`. */
export function scansOf(node: Node): string[] {
  const own = node['Relation Name'] ? [`${node['Node Type']} ${node['Relation Name']}`] : []
  return [...new Set([...own, ...(node.Plans ?? []).flatMap(scansOf)])].toSorted()
}

/** Pages read, from the cache or not. */
export function pagesOf(node: Node): number {
  return node['Shared Hit Blocks'] + node['Shared Read Blocks']
}
