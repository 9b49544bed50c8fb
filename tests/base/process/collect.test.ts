/** Memory that is given back when the process rests after work. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { driverPool, endConnections } from '../../../src/base/db/pool'
import { giveBackAtRest } from '../../../src/base/process/collect'
import { startApi, stopApi } from '../../support/api'
import { until } from '../../support/service'

const LOOK_MS = 50
/** More than the collections of some looks take. */
const WORK_S = 0.6

beforeEach(async () => {
  await startApi(1)
})
afterEach(stopApi)

test('when work has ended, a connection that is idle is replaced, once, and one in a transaction is not', async () => {
  let given = 0
  let looks = 0
  // Gives back at each look.
  const stopLooks = giveBackAtRest(() => looks++, LOOK_MS, 0)
  const someLooks = async () => {
    const before = looks
    await until('it has looked some times', () => looks >= before + 4)
  }
  const stop = giveBackAtRest(
    () => {
      given++
      endConnections('idle')
    },
    LOOK_MS,
    WORK_S,
  )
  try {
    const first = await backend()
    await someLooks()
    expect([given, await backend()]).toEqual([0, first])

    await driverPool().begin(async (sql) => {
      for (let part = 0; part < 20; part++) {
        work(WORK_S / 10)
        await new Promise(setImmediate)
      }
      expect(given).toBe(0)
      await until('it has given back', () => given === 1)
      const [own] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`
      expect(own!.pid).toBe(first)
    })

    work(WORK_S)
    await until('it has given back again', () => given === 2)
    const second = await backend()
    expect(second).not.toBe(first)
    await someLooks()
    expect([given, await backend()]).toEqual([2, second])
  } finally {
    stop()
    stopLooks()
  }
})

async function backend(): Promise<number> {
  const [row] = await driverPool()<{ pid: number }[]>`select pg_backend_pid() as pid`
  return row!.pid
}

/** Uses that much of the processor. */
function work(seconds: number): void {
  const before = process.cpuUsage()
  for (let used = process.cpuUsage(before); used.user + used.system < seconds * 1e6; ) used = process.cpuUsage(before)
}
