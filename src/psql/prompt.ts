/**
 * A small prompt for SQL, where psql is not installed: statements from `-c`, a terminal or standard input, results as tables.
 * No package was found that does this: pgcli and usql are programs of other languages, and the npm packages that are alive
 * draw tables without reading statements.
 */
import { createInterface } from 'node:readline/promises'
import type { Session } from '../db/session'
import { OperatorError } from '../errors'
import { isWhole } from './statements'

const WIDEST = 60

/**
 * Runs statements until there are no more. On a terminal a statement may fail; elsewhere the first that fails is the end.
 * @param args `-c STATEMENT` (or `--command`), or nothing
 * @throws OperatorError
 */
export async function runPrompt(session: Session, args: string[]): Promise<void> {
  if (args.length === 0) return readStatements(session)
  const [option, statement, ...more] = args
  if (!['-c', '--command'].includes(option!) || statement === undefined || more.length > 0) {
    throw new OperatorError(
      'psql is not installed: without it only -c STATEMENT and statements from standard input work',
    )
  }
  await run(session, statement)
}

async function readStatements(session: Session): Promise<void> {
  const is_terminal = process.stdin.isTTY === true
  const lines = createInterface({ input: process.stdin, output: is_terminal ? process.stdout : undefined })
  const prompt = (text: string) => {
    if (!is_terminal) return
    lines.setPrompt(text)
    lines.prompt()
  }
  if (is_terminal)
    process.stdout.write('psql is not installed: this is a simple prompt. End statements with ;, leave with \\q\n')
  let statement = ''
  prompt('deskwire=> ')
  for await (const line of lines) {
    if (/^\s*(\\q|exit|quit)\s*;?\s*$/.test(line)) break
    statement += `${line}\n`
    if (isWhole(statement)) {
      await run(session, statement, is_terminal ? 'go on' : 'end')
      statement = ''
    }
    prompt(statement.trim() ? 'deskwire-> ' : 'deskwire=> ')
  }
  lines.close()
  if (statement.trim()) await run(session, statement, is_terminal ? 'go on' : 'end')
}

/** @throws OperatorError with what the server says, unless work is to go on after it */
async function run(session: Session, statement: string, after_fault: 'end' | 'go on' = 'end'): Promise<void> {
  try {
    const results = await session.unsafe(statement)
    // Several statements give a list of results.
    const all = Array.isArray(results[0]) || results.command === undefined ? [...results] : [results]
    for (const result of all as (typeof results)[]) process.stdout.write(asText(result))
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'PostgresError') throw error
    const { detail, hint } = error as { detail?: string; hint?: string }
    const text = [`ERROR: ${error.message}`, detail && `DETAIL: ${detail}`, hint && `HINT: ${hint}`]
      .filter(Boolean)
      .join('\n')
    if (after_fault === 'end') throw new OperatorError(text)
    process.stderr.write(`${text}\n`)
  }
}

type Result = { command: string; count: number | null; columns?: { name: string }[] } & readonly Record<
  string,
  unknown
>[]

function asText(result: unknown): string {
  const { command, count, columns } = result as Result
  if (!columns?.length) return `${command}${count === null ? '' : ` ${count}`}\n`
  const names = columns.map(({ name }) => name)
  const rows = [...(result as Result)].map((row) => names.map((name) => cell(row[name])))
  const widths = names.map((name, column) =>
    Math.max(name.length, ...rows.map((row) => Math.min(row[column]!.length, WIDEST))),
  )
  const line = (cells: string[]) =>
    cells
      .map((text, column) => ` ${text.padEnd(widths[column]!)} `)
      .join('|')
      .trimEnd()
  const rule = widths.map((width) => '-'.repeat(width + 2)).join('+')
  return `${[line(names), rule, ...rows.map(line)].join('\n')}\n(${rows.length} ${rows.length === 1 ? 'row' : 'rows'})\n\n`
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString('hex')}`
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  return text.replace(/[\n\r\t]/g, (found) => JSON.stringify(found).slice(1, -1))
}
