/** A process that takes ticket numbers. Uses `DATABASE_URL`; the arguments are ids of organizations. */
import { closeDatabase, connectDatabase } from '../../src/base/db/pool'
import { takeNumbers } from '../../src/desk/tickets/code'

const WAVES = 20
const AT_ONCE = 10

const ids = process.argv.slice(2)
const taken: Record<string, number[]> = Object.fromEntries(ids.map((id) => [id, []]))

connectDatabase(process.env.DATABASE_URL!, 1)
for (let wave = 0; wave < WAVES; wave++) {
  const wanted = ids.flatMap((id) => Array<string>(AT_ONCE).fill(id))
  await Promise.all(wanted.map(async (id) => taken[id]!.push(await takeNumbers(id, 1))))
}
await closeDatabase()
console.log(JSON.stringify(taken))
