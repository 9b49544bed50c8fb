/** Gives imported tickets their parents, once all tickets are there: a line may name one behind it. */
import { inTransaction, type Scope } from '../../base/scope'
import { findParent } from '../../desk/tickets/references'
import { type Run, rowOf } from './import-batch'
import { TICKETS } from './import-tickets'
import type { Line } from './kind'
import { findKnown, keyOf, lockImport } from './known'
import type { ImportedTicket } from './model'
import { batchesOf } from './read-lines'
import { readRow } from './read-row'

/** Reads the file of tickets once more. A ticket that was changed here keeps what it has. */
export async function importParents(run: Run): Promise<void> {
  for await (const batch of batchesOf(`${TICKETS.name}.jsonl`, TICKETS.most)) {
    const lines = batch.flatMap((one) => {
      const row = readRow(TICKETS, one)
      return 'faults' in row || !row.input.parent_id ? [] : row
    })
    if (lines.length > 0) await inTransaction(run.scope, (scope) => placeEach({ ...run, scope }, lines))
  }
}

async function placeEach(run: Run, lines: Line<ImportedTicket>[]): Promise<void> {
  const { scope, report } = run
  await lockImport(scope)
  const parentKey = ({ input }: Line<ImportedTicket>) => keyOf(TICKETS.name, input.parent_id!)
  const known = await findKnown(
    scope,
    lines.flatMap((line) => [...line.keys, parentKey(line)]),
  )
  const ids = lines.flatMap((line) => rowOf(line, known)?.row_id ?? [])
  const states = await TICKETS.states(scope, ids)
  for (const line of lines) {
    const [row, parent] = [rowOf(line, known), known.get(parentKey(line))]
    const is_here = row !== undefined && states.get(row.row_id) === row.state
    if (!is_here && !run.dry?.has(line.keys[0]!)) continue
    const message = parent
      ? is_here && (await placeUnder(scope, row.row_id, parent.row_id))
      : !run.dry?.has(parentKey(line)) && 'names nothing in tickets of this or an earlier import'
    if (!message) continue
    const left_out = [{ path: '/parent_id', message }]
    report.note({ file: TICKETS.name, line: line.line, key: line.name }, { cut: [], left_out })
  }
}

/** @returns why it cannot be placed there; false when it is */
async function placeUnder(scope: Scope, id: string, parent_id: string): Promise<string | false> {
  const { sql, organization_id } = scope
  const found = await findParent(scope, id, parent_id)
  if (!found) return 'was deleted here'
  if (found.is_below) return 'is the ticket itself, or below it'
  await sql`
    update tickets set parent_id = ${parent_id} where organization_id = ${organization_id} and id = ${id}`
  return false
}
