/** The ways to ask what is on hold agree: of one ticket, of one in a sweep, and of a few. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { Own } from '../../../src/base/db/sweep'
import { findHeld, holdLabels, isHeld, isHeldIn } from '../../../src/desk/holds/holds'
import { createOrganization, startApi, stopApi } from '../../support/api'
import { createLabel, createTicket } from '../../support/factories'
import { tries } from '../../support/sampled'

beforeAll(() => startApi())
afterAll(stopApi)

const TICKETS = 8

/** Tickets by their numbers: targets of merges for the second half of them, and labels of all. */
const desks = fc.record({
  holds: fc.subarray([0, 1, 2]),
  targets: fc.array(fc.option(fc.nat(TICKETS / 2 - 1)), { minLength: TICKETS / 2, maxLength: TICKETS / 2 }),
  labels: fc.array(fc.subarray([0, 1, 2, 3]), { minLength: TICKETS, maxLength: TICKETS }),
})

test('merged tickets, hold labels and others of any number give one answer', async () => {
  const { admin, scope } = await createOrganization()
  const { sql, organization_id } = scope
  const labels: string[] = []
  for (let n = 0; n < 4; n++) labels.push((await createLabel(admin)).id)
  const ids: string[] = []
  for (let n = 0; n < TICKETS; n++) ids.push((await createTicket(admin)).id)
  await fc.assert(
    fc.asyncProperty(desks, async ({ holds, targets, labels: labelled }) => {
      await admin.patch('/retention', { hold_label_ids: holds.map((n) => labels[n]) })
      const targetOf = (n: number) => (n < TICKETS / 2 ? null : (targets[n - TICKETS / 2] ?? null))
      await sql`delete from ticket_labels where organization_id = ${organization_id}`
      for (const [n, id] of ids.entries()) {
        const target = targetOf(n)
        await sql`
          update tickets set merged_into_id = ${target === null ? null : ids[target]!}
          where organization_id = ${organization_id} and id = ${id}`
        for (const label of labelled[n]!) {
          await sql`
            insert into ticket_labels (organization_id, ticket_id, label_id)
            values (${organization_id}, ${id}, ${labels[label]!})`
        }
      }
      const isLabelled = (n: number) => labelled[n]!.some((label) => holds.includes(label))
      const wanted = ids.map((_, n) => {
        const root = targetOf(n) ?? n
        return ids.some((_, other) => (targetOf(other) ?? other) === root && isLabelled(other))
      })
      const own: Own = (alias) => sql`${sql(alias)}.organization_id = ${organization_id}`
      const rows = await sql<{ id: string; held: boolean; held_in: boolean }[]>`
        select t.id, ${isHeld(scope, await holdLabels(scope), sql`t.id`)} as held,
          ${isHeldIn(sql, own, sql`t.id`)} as held_in
        from tickets t where t.organization_id = ${organization_id} and t.merged_into_id is null`
      const few = new Set((await findHeld(scope, ids)).map(({ id }) => id))
      expect(ids.map((id) => few.has(id))).toEqual(wanted)
      for (const { id, held, held_in } of rows) {
        const is_held = wanted[ids.indexOf(id)]!
        expect([id, held, held_in]).toEqual([id, is_held, is_held])
      }
    }),
    { numRuns: tries(25) },
  )
})
