/** Bytes that are read at once. */
const STEP_BYTES = 2 * 1024 * 1024

/** Divides rows, in their order, into steps that fit into memory. A row that is larger has a step of its own. */
export function byteSteps<Row extends { size: number }>(rows: readonly Row[]): Row[][] {
  const steps: Row[][] = []
  let left = 0
  for (const row of rows) {
    if (steps.length === 0 || row.size > left) {
      steps.push([])
      left = STEP_BYTES
    }
    steps.at(-1)!.push(row)
    left -= row.size
  }
  return steps
}
