/** Prints tables of figures, and says which aims are met. */
import { cpus, loadavg } from 'node:os'
import type { Cpu } from './processes'

/** A figure that has to be at most, or at least, what is aimed at. */
export type Aim = { at_most: number } | { at_least: number }

/** The unmet aims of all tables. */
const unmet: string[] = []

export function printHead(title: string): void {
  const minutes = (performance.now() / 60_000).toFixed(1)
  console.log(
    `\n## ${title}\n\n${cpus().length} processors, load ${loadavg()[0]!.toFixed(1)} before it, ${minutes} minutes after the start\n`,
  )
}

/** Prints rows in Markdown, with columns as wide as their widest cell. */
export function printTable(header: string[], rows: string[][]): void {
  const widths = header.map((title, column) => Math.max(...[title, ...rows.map((row) => row[column]!)].map(widthOf)))
  const line = (cells: string[]) =>
    `| ${cells.map((cell, column) => cell + ' '.repeat(widths[column]! - widthOf(cell))).join(' | ')} |`
  console.log([line(header), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n'))
}

/** @returns a cell for the table; a miss is also listed at the end */
export function verdict(what: string, reached: number, aim: Aim | undefined): string {
  if (!aim) return ''
  const is_met = 'at_most' in aim ? reached <= aim.at_most : reached >= aim.at_least
  if (!is_met) unmet.push(`${what}: ${rounded(reached)}, aim ${aimText(aim)}`)
  return is_met ? 'met' : 'NOT met'
}

export function aimText(aim: Aim | undefined): string {
  if (!aim) return ''
  return 'at_most' in aim ? `<= ${rounded(aim.at_most)}` : `>= ${rounded(aim.at_least)}`
}

/** Service, database and both, in milliseconds for each operation. */
export function cpuText({ service_ms, database_ms }: Cpu): string {
  return `${rounded(service_ms)} + ${rounded(database_ms)} = ${rounded(service_ms + database_ms)}`
}

/** Three digits that count. */
export function rounded(value: number): string {
  if (!Number.isFinite(value)) return '?'
  const decimals = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2
  return value.toFixed(decimals)
}

export function printUnmet(): void {
  console.log(
    unmet.length === 0 ? '\nEvery aim is met.' : `\n${unmet.length} aims are not met:\n- ${unmet.join('\n- ')}`,
  )
}

function widthOf(cell: string): number {
  return Bun.stringWidth(cell)
}

/** The middle of the values, the upper one of two. */
export function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
}
