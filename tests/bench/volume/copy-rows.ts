/** Writes rows with COPY, which takes a tenth of the time of INSERT. */
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { getTableName, type InferInsertModel, type Table } from 'drizzle-orm'
import type postgres from 'postgres'

const PART = 256 * 1024

/** Copies rows into a table of the schema. All rows have the fields of the first one. */
export async function copyRows<T extends Table>(
  sql: postgres.Sql,
  table: T,
  rows: InferInsertModel<T>[],
): Promise<void> {
  if (rows.length === 0) return
  const fields = Object.keys(rows[0]!)
  const name: string = getTableName(table)
  const writable = await sql`copy ${sql(name)} (${sql(fields)}) from stdin`.writable()
  await pipeline(Readable.from(parts(rows, fields)), writable)
}

function* parts(rows: Record<string, unknown>[], fields: string[]): Generator<string> {
  let part = ''
  for (const row of rows) {
    for (const [place, field] of fields.entries()) part += (place === 0 ? '' : '\t') + written(row[field])
    part += '\n'
    if (part.length < PART) continue
    yield part
    part = ''
  }
  yield part
}

/** A value in the text format of COPY. */
function written(value: unknown): string {
  if (value === null || value === undefined) return '\\N'
  if (Array.isArray(value)) return `{${value.join(',')}}`
  if (typeof value === 'object') return escaped(JSON.stringify(value))
  return escaped(String(value))
}

function escaped(text: string): string {
  return /[\\\n\t\r]/.test(text)
    ? text.replace(/[\\\n\t\r]/g, (found) => ({ '\n': '\\n', '\t': '\\t', '\r': '\\r' })[found] ?? '\\\\')
    : text
}
