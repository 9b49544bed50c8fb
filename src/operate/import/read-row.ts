/** Reads a line of a file as a row of its kind. */
import { sharedTime } from '../../base/db/shared-time'
import type { Fault } from '../../base/errors'
import { timeOf } from '../../base/shapes/time'
import { fitted, isTooDeep, type Losses, noLosses } from './fitting'
import { hashOf } from './key-hashes'
import type { Kind, Line } from './kind'
import { keyOf } from './known'
import { faultsIn, read } from './model'
import { LINE_MOST, type TextLine } from './read-lines'

/** The meaning of null in these fields; in others it says nothing, as in a create. */
const NULL_COUNTS = new Set(['company_id', 'company', 'contact_id', 'contact', 'rate'])
/** Characters that PostgreSQL cannot store may be in a line. */
const UNCLEAN = /\\u(?:0000|[dD][89a-fA-F])/
/** A clock that goes before ours by this does no harm. */
const AHEAD_MS = 60_000

/** A line that is wrong; `name` is its key, as far as it can be told. */
type WrongLine = { line: number; name: string | null; faults: Fault[] }

/** @returns the row, or what is wrong with the line */
export function readRow<Input>(kind: Kind<Input>, { line, text }: TextLine): Line<Input> | WrongLine {
  if (text === undefined) return wrong(line, null, '', `is longer than ${LINE_MOST} bytes`)
  const given = objectOf(text)
  if (!given) return wrong(line, null, '', 'is no JSON object')
  const [external_id, id] = [keyText(given.external_id), keyText(given.id)]
  const name = external_id ?? id
  if (name === undefined) return wrong(line, null, '/external_id', 'is required, or an id')
  const times = timesIn(given)
  const losses = noLosses()
  const found = read<Input>(kind.model, shapedRow(kind, given, losses))
  const faults = [...times.faults, ...('faults' in found ? found.faults : [])]
  if ('faults' in found || faults.length > 0) return { line, name, faults }
  const { created_ms, updated_at } = times
  const { input } = found
  if (isTooDeep(input)) return wrong(line, name, '', 'is nested too deeply')
  return {
    ...{ file: kind.name, line, name, input, created_ms, updated_at, losses },
    keys: [...new Set([external_id ?? [], id ?? []].flat())].map((key) => keyOf(kind.name, key)),
    given_id: id,
    digest: hashOf(JSON.stringify([input, given.created_at ?? null, given.updated_at ?? null])),
  }
}

/** A row as its model takes it, as far as it fits. */
export function shapedRow<Input>(kind: Kind<Input>, given: Record<string, unknown>, losses: Losses) {
  return fitted(kind.model, kind.shape(withoutNulls(given)), losses)
}

/** Says what is wrong with a row that `shapedRow` gave. */
export function faultsOf<Input>(kind: Kind<Input>, row: Record<string, unknown>): Fault[] {
  return [...timesIn(row).faults, ...faultsIn(kind.model, row)]
}

function wrong(line: number, name: string | null, path: string, message: string): WrongLine {
  return { line, name, faults: [{ path, message }] }
}

function objectOf(text: string): Record<string, unknown> | undefined {
  try {
    const clean = (_: string, value: unknown) =>
      typeof value === 'string' ? value.replaceAll('\u0000', '').toWellFormed() : value
    const value: unknown = UNCLEAN.test(text) ? JSON.parse(text, clean) : JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}

/** Keys may be numbers. */
function keyText(value: unknown): string | undefined {
  const text = typeof value === 'number' ? String(value) : value
  return typeof text === 'string' && text !== '' && text.length <= 1000 ? text : undefined
}

function withoutNulls(given: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(given).filter(([field, value]) => value !== null || NULL_COUNTS.has(field)))
}

function timesIn(given: Record<string, unknown>) {
  const now = sharedTime()
  const faults: Fault[] = []
  const timeIn = (field: 'created_at' | 'updated_at'): number | undefined => {
    const value = given[field]
    if (value === undefined || value === null) return undefined
    const time = typeof value === 'string' ? timeOf(value) : undefined
    if (time !== undefined && time >= 0 && time <= now + AHEAD_MS) return time
    faults.push({ path: `/${field}`, message: 'must be a time of the past since 1970, such as 2026-01-31T12:00:00Z' })
    return undefined
  }
  const created_ms = Math.floor(timeIn('created_at') ?? now)
  const changed_ms = Math.max(Math.floor(timeIn('updated_at') ?? created_ms), created_ms)
  return { created_ms, updated_at: new Date(changed_ms).toISOString(), faults }
}
