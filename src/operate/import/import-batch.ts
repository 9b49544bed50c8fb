/**
 * Imports lines of a file: one transaction for all of them. When it fails, each is tried alone, so that a wrong line
 * stops no other.
 */

import { ZERO_ID } from '../../base/db/columns'
import { violatedBy } from '../../base/db/violations'
import { ApiError, type Fault } from '../../base/errors'
import { inTransaction, type Scope } from '../../base/scope'
import type { Report } from './import-report'
import { idAt } from './key-hashes'
import type { Find, Kind, Line, Placed, Prepared } from './kind'
import { findKnown, holdRows, type KnownRow, keyOf, lockImport, noteKnown, REFERRED } from './known'

/** The subject of an import: keys of a dry run are remembered instead of written. */
export type Run = { scope: Scope; report: Report; dry: Set<string> | undefined }

/** A row that is left out as a whole. */
const isOfRow = ({ path }: Fault) => path === ''

type Result = 'created' | 'updated' | 'unchanged' | 'conflict'

/** The outcome of lines: a result, or what is wrong with it. */
type Outcomes<Input> = Map<Line<Input>, Result | Fault[]>

const CHANGED_HERE: Fault = { path: '', message: 'was changed here, and stays as it is here' }

/** Imports lines, and counts what became of each. @throws what ends the import: no database, no disk */
export async function importBatch<Input>(run: Run, kind: Kind<Input>, lines: Line<Input>[]): Promise<void> {
  const outcomes = await outcomesOf(run, kind, lines)
  const numbers = run.report.numbers[kind.name]!
  for (const line of lines) {
    const outcome = outcomes.get(line)!
    const refused = { file: kind.name, line: line.line, key: line.name }
    if (Array.isArray(outcome)) run.report.refuse({ ...refused, result: 'failed', errors: outcome })
    else if (outcome === 'conflict') run.report.refuse({ ...refused, result: 'conflict', errors: [CHANGED_HERE] })
    else numbers[outcome]++
    if (outcome === 'created' || outcome === 'updated') run.report.note(refused, line.losses)
    else if (!Array.isArray(outcome))
      run.report.note(refused, { cut: [], left_out: line.losses.left_out.filter(isOfRow) })
  }
}

async function outcomesOf<Input>(run: Run, kind: Kind<Input>, lines: Line<Input>[]): Promise<Outcomes<Input>> {
  try {
    return await importTogether(run, kind, lines)
  } catch (error) {
    const faults = faultsOf(error)
    if (!faults) throw error
    if (lines.length === 1) return new Map([[lines[0]!, faults]])
    const outcomes: Outcomes<Input> = new Map()
    for (const line of lines) {
      for (const [one, outcome] of await outcomesOf(run, kind, [line])) outcomes.set(one, outcome)
    }
    return outcomes
  }
}

/** The meaning of an error for a line; undefined when it is about the service. No value of a row is in it. */
function faultsOf(error: unknown): Fault[] | undefined {
  if (error instanceof ApiError && error.status < 500) {
    return (error.details.errors as Fault[] | undefined) ?? [{ path: '', message: error.message }]
  }
  const [constraint] = violatedBy(error)
  return constraint === undefined ? undefined : [{ path: '', message: `breaks the rule ${constraint}` }]
}

async function importTogether<Input>(run: Run, kind: Kind<Input>, lines: Line<Input>[]): Promise<Outcomes<Input>> {
  const prepared: Prepared = new Map()
  const known = await findKnown(
    run.scope,
    lines.flatMap(({ keys }) => keys),
  )
  const changed = lines.flatMap((line) => {
    const row = rowOf(line, known)
    return row?.digest === line.digest ? [] : { ...line, ...(row && { row_id: row.row_id }) }
  })
  if (!run.dry) await kind.prepare?.(run.scope, changed, prepared)
  return inTransaction(run.scope, async (scope) => {
    await lockImport(scope)
    return place({ ...run, scope }, kind, lines, prepared)
  })
}

/** The row of a line, by any of its keys; the first of them has what was imported. */
export function rowOf({ keys }: Line<unknown>, known: Map<string, KnownRow>): KnownRow | undefined {
  const found = keys.flatMap((key) => known.get(key) ?? [])
  return found.find(({ digest }) => digest !== null) ?? found[0]
}

async function place<Input>(
  run: Run,
  kind: Kind<Input>,
  lines: Line<Input>[],
  prepared: Prepared,
): Promise<Outcomes<Input>> {
  const { scope } = run
  const known = await findKnown(
    scope,
    lines.flatMap(({ keys }) => keys),
  )
  const outcomes: Outcomes<Input> = new Map()
  const open: (Line<Input> & { row?: KnownRow })[] = []
  const first = new Map<string, Line<Input>>()
  for (const line of lines) {
    const row = rowOf(line, known)
    if (row?.digest === line.digest) outcomes.set(line, 'unchanged')
    else if (line.keys.some((key) => first.has(key))) outcomes.set(line, twice(line))
    else open.push(Object.assign(line, { row }))
    for (const key of line.keys) first.set(key, line)
  }
  const find = await finder(run, kind, open)
  const right = open.filter((line) => {
    const faults = kind.judge?.(line.input, find, line.losses) ?? []
    if (faults.length > 0) outcomes.set(line, faults)
    return faults.length === 0
  })
  const fresh = right.filter(({ row }) => !row)
  const matched = (await kind.match?.(scope, fresh, find)) ?? new Map<string, string>()
  const told = right.flatMap(({ row }) => row?.row_id ?? [])
  const states = await kind.states(scope, [...told, ...matched.values()])
  const written: Placed<Input>[] = []
  const linked: { line: Line<Input>; row_id: string; state: string }[] = []
  for (const line of right) {
    const id = line.row?.row_id ?? matched.get(line.keys[0]!)
    if (id === undefined)
      written.push(Object.assign(line, { id: idAt(line.created_ms, line.given_id, line.line), is_new: true }))
    else if (!line.row) linked.push({ line, row_id: id, state: states.get(id) ?? '' })
    else if (states.get(id) === line.row.state) written.push(Object.assign(line, { id, is_new: false }))
    else outcomes.set(line, 'conflict')
  }
  for (const { line } of linked) outcomes.set(line, 'unchanged')
  for (const line of written) outcomes.set(line, line.is_new ? 'created' : 'updated')
  if (run.dry) {
    for (const line of right) for (const key of line.keys) run.dry.add(key)
    return outcomes
  }
  const left = written.length > 0 ? await kind.write(scope, written, find, prepared) : undefined
  for (const [line, message] of left ?? []) outcomes.set(line, leftLine(line, message))
  const noted = written.filter((line) => line.is_new || !left?.has(line))
  await noteKnown(scope, [
    ...linked.map(({ line, row_id, state }) => ({ keys: line.keys, row_id, digest: line.digest, state })),
    ...noted.map((line) => ({
      ...{ keys: line.keys, row_id: line.id, digest: line.digest },
      state: kind.stateOf(line, prepared),
    })),
  ])
  return outcomes
}

function leftLine({ is_new, losses }: Placed<unknown>, message: string): Result {
  losses.left_out.push({ path: '', message })
  return is_new ? 'unchanged' : 'conflict'
}

function twice({ keys }: Line<unknown>): Fault[] {
  return [{ path: '/external_id', message: keys.length > 1 ? 'is there twice, or the id is' : 'is there twice' }]
}

/** Reads what lines name. */
async function finder<Input>({ scope, dry }: Run, kind: Kind<Input>, lines: Line<Input>[]): Promise<Find> {
  const named = lines.flatMap(({ input }) => kind.references?.(input) ?? [])
  const known = await findKnown(
    scope,
    named.map(([of, key]) => keyOf(of, key)),
  )
  const ids = new Map<string, string | null>()
  for (const of of REFERRED) {
    const keys = [...new Set(named.filter(([one]) => one === of).map(([, key]) => keyOf(of, key)))]
    const there = keys.flatMap((key) => known.get(key)?.row_id ?? [])
    const held = await holdRows(scope, of, there)
    for (const key of keys) {
      const row = known.get(key)
      if (row) ids.set(key, held.get(row.row_id) ?? null)
      else if (dry?.has(key)) ids.set(key, ZERO_ID)
    }
  }
  return (of, key) => ids.get(keyOf(of, key))
}
