/** Lists the proof of each row of the interface: the test that fails when the row is broken. */
import { ENDPOINTS } from './endpoints'
import { EXTENSIONS } from './extensions'
import { RESOURCES } from './resources'
import { RULES } from './rules'

/** `row` as `readInterface` names it; `proof` as `readTestNames` does: `file: group > name`. */
export type Row = { row: string; proof: string }

/** All rows in the order of the interface. */
export function contractRows(): Row[] {
  return rowsIn(RESOURCES, ENDPOINTS, RULES)
}

/** Rows of what the service has beyond the interface. */
export function extensionRows(): Row[] {
  return rowsIn(EXTENSIONS)
}

function rowsIn(...texts: string[]): Row[] {
  const lines = texts.flatMap((text) => text.split('\n')).filter(Boolean)
  return lines.flatMap((line) => {
    const [row, proof, ...rest] = line.split(' <- ')
    if (!row || !proof || rest.length > 0) throw new Error(`no row with its proof: ${line}`)
    // Rows that differ in their last name alone stand in one line.
    const [first, ...names] = row.split(' | ')
    return [first!, ...names.map((name) => first!.replace(/[^/]*$/, ` ${name}`))].map((row) => ({ row, proof }))
  })
}
