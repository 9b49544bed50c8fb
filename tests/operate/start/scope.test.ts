/** Transactions, and statements that are sent together within one. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { inTransaction, together } from '../../../src/base/scope'
import { createOrganization, startApi, stopApi } from '../../support/api'

beforeAll(() => startApi())
afterAll(stopApi)

test('of what is done together the first error is thrown, not one that follows from it', async () => {
  const { scope } = await createOrganization()
  let thrown: unknown
  const transaction = inTransaction(scope, async ({ sql }) => {
    const inTwoSteps = async () => {
      await sql`select 1`
      await sql`select 2`
    }
    thrown = await together([inTwoSteps(), sql`select 1 / 0`]).catch((error) => error)
    throw thrown
  })
  await expect(transaction).rejects.toMatchObject({ code: '22012' })
  expect(thrown).toMatchObject({ code: '22012' })
})

test('when something done together fails, the others end before the transaction does', async () => {
  const { scope } = await createOrganization()
  const steps: string[] = []
  const transaction = inTransaction(scope, ({ sql }) => {
    const inManySteps = async () => {
      for (let step = 0; step < 5; step++) {
        await sql`update organizations set name = 'Kept' where id = ${scope.organization_id}`.catch(() => {})
      }
      steps.push('all done')
    }
    return together([sql`select 1 / 0`, inManySteps()])
  })
  await transaction.catch(() => steps.push('rolled back'))
  expect(steps).toEqual(['all done', 'rolled back'])
  const [row] = await scope.sql`select name from organizations where id = ${scope.organization_id}`
  expect(row!.name).not.toBe('Kept')
})
