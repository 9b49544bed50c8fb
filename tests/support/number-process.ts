/** A process that takes ticket numbers. Uses `DATABASE_URL`; the arguments are ids of organizations. */
import { closeDatabase, connectDatabase } from '../../src/db/pool'
import { takeNumbers } from '../../src/tickets/code'

const WAVES = 20
const AT_ONCE = 10

const ids = process.argv.slice(2)
const taken: Record<string, number[]> = Object.fromEntries(ids.map((id) => [id, []]))

connectDatabase(process.env.DATABASE_URL!, 1)
for (let wave = 0; wave < WAVES; wave++) {
  const requests = Array.from({ length: AT_ONCE }, () => ids.map((organization_id) => ({ organization_id, count: 1 })))
  await Promise.all(
    requests.map(async (wanted) => {
      const numbers = await takeNumbers(wanted)
      for (const [index, id] of ids.entries()) taken[id]!.push(numbers[index]!)
    }),
  )
}
await closeDatabase()
console.log(JSON.stringify(taken))
