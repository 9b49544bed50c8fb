/**
 * Measures the same reads in organizations of different sizes beside each other, and in the smallest of them when it is
 * alone in its database: no organization may pay for another.
 */
import { type Figure, writeFigure } from './figure'
import { measureRead, type ReadLatency, warmUp } from './latency'
import { READS, type Read } from './reads'
import { aimText, printHead, printTable, rounded, verdict } from './report'
import type { Rig } from './rig'
import { findSubject } from './subjects'
import { tenantId } from './volume/tenants'

/** How many times slower a read may be beside large organizations. */
const MOST_BESIDE = 1.3
/** How many times slower a read may be with ten times as many tickets. */
const MOST_GROWTH = 3
/** The small organization that `aim_small_ms` is about. */
const SMALL = 10_000

/** Latencies of every read, in the order of READS. */
type Column = { title: string; size: number; reads: ReadLatency[] }

/** The sizes that are compared, smallest first: the three largest. */
export function comparedSizes(sizes: number[]): number[] {
  return [...new Set(sizes)].sort((a, b) => a - b).slice(-3)
}

/** @param file where the figure is written to, as SVG; none when absent */
export async function benchGrowth(rig: Rig, startAlone: () => Promise<Rig>, file: string | undefined): Promise<void> {
  const columns: Column[] = []
  for (const size of comparedSizes(rig.sizes)) columns.push(await measureColumn(rig, size, String(size)))
  await rig.stop()
  const alone_rig = await startAlone()
  const alone = await measureColumn(alone_rig, alone_rig.sizes[0]!, `${alone_rig.sizes[0]} alone`)
  await alone_rig.stop()
  printColumns(alone, columns)
  if (file) writeFigure(file, toFigure(columns))
}

async function measureColumn(rig: Rig, size: number, title: string): Promise<Column> {
  const subject = await findSubject(rig.sql, tenantId(rig.sizes.indexOf(size) + 1), size)
  await warmUp(rig, subject)
  const reads: ReadLatency[] = []
  for (const read of READS) reads.push(await measureRead(rig, read, subject))
  return { title, size, reads }
}

function printColumns(alone: Column, columns: Column[]): void {
  printHead(`Growth: p50 in ms of one client, and the bare limit of the largest organization`)
  const [small, before_last, last] = [columns[0]!, columns.at(-2) ?? columns[0]!, columns.at(-1)!]
  const rows = READS.map((read, index) => {
    const p50 = (column: Column) => column.reads[index]!.product.p50_ms
    const [beside, growth] = [p50(small) / p50(alone), p50(last) / p50(before_last)]
    const growth_aim = read.grows || last === before_last ? undefined : { at_most: MOST_GROWTH }
    return [
      read.name,
      ...[alone, ...columns].map((column) => rounded(p50(column))),
      rounded(last.reads[index]!.bare.p50_ms),
      rounded(beside),
      verdict(`${read.name}, beside a large organization`, beside, { at_most: MOST_BESIDE }),
      rounded(growth),
      verdict(`${read.name}, growth`, growth, growth_aim),
      smallVerdict(read, small, p50(small)),
    ]
  })
  const beside_title = `beside / alone ${aimText({ at_most: MOST_BESIDE })}`
  const growth_title = `growth ${aimText({ at_most: MOST_GROWTH })}`
  const sizes = [alone, ...columns].map(({ title }) => title)
  printTable(['Request', ...sizes, 'bare', beside_title, '', growth_title, '', 'small'], rows)
}

function smallVerdict({ name, aim_small_ms }: Read, { size }: Column, p50_ms: number): string {
  if (aim_small_ms === undefined || size !== SMALL) return ''
  const aim = { at_most: aim_small_ms }
  return `${aimText(aim)} ms: ${verdict(`${name}, ${size} tickets`, p50_ms, aim)}`
}

/** Reads that the figure shows: a page, one of each kind of total, and searches. */
const SHOWN: Record<string, string> = {
  'GET /tickets': 'list',
  'GET /labels': 'labels with totals',
  'GET /companies/:id, the largest': 'largest company',
  'GET /tickets, search: word in 10 %': 'search, word in 10 %',
  'GET /tickets, search: prefix of 3 letters': 'search, prefix',
}

function toFigure(columns: Column[]): Figure {
  const shown = READS.flatMap(({ name }, index) => {
    const label = SHOWN[name]
    return label ? [{ label, index }] : []
  })
  const bare = READS.findIndex(({ name }) => name === 'GET /tickets')
  return {
    sizes: columns.map(({ size }) => size),
    lines: [
      ...shown.map(({ label, index }) => ({
        label,
        values: columns.map(({ reads }) => reads[index]!.product.p50_ms),
        is_bare: false,
      })),
      {
        label: 'bare: the rows of the list',
        values: columns.map(({ reads }) => reads[bare]!.bare.p50_ms),
        is_bare: true,
      },
    ],
  }
}
