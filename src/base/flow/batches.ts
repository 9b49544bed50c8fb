/** Works on many rows in statements that stay short. */
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Does `work` again and again until it finds less than a full batch.
 * @param size rows of a full batch: the limit of the statement in `work`
 * @param work returns how many rows it found
 * @param pause_ms after each full batch, so that much work does not keep others from the disk
 * @returns how many rows were found in all
 */
export async function inBatches(size: number, work: () => Promise<number>, pause_ms = 0): Promise<number> {
  for (let total = 0; ; ) {
    const count = await work()
    total += count
    if (count < size) return total
    if (pause_ms > 0) await sleep(pause_ms)
  }
}
