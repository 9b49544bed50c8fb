/**
 * The outbox handler of kind promise: publishes that promises are due soon or breached. Those of an organization that
 * come due together are told together.
 */
import { isOneOf } from '../../base/db/few-rows'
import { sharedTime } from '../../base/db/shared-time'
import type { Connection } from '../../base/db/transact'
import { gathered } from '../../base/flow/gather'
import { inTransaction, SYSTEM, together } from '../../base/scope'
import type { OutboxJob, Outcome } from '../../delivery/outbox/job'
import { findAudience, type NewEvent, publishEach } from '../../delivery/webhooks/publish'
import { keepAll, readAll, ticketOfWork } from '../promises/keep'
import type { Stored } from '../promises/promise-facts'
import { fields, present, type TicketRow, withNames } from './row'

type Due = { organization_id: string; ticket_id: string; connection: Connection }

/** Tells of a ticket what has come due. The row of the outbox stays for what comes later. */
export async function tellPromises({ organization_id, id }: OutboxJob, connection: Connection): Promise<Outcome> {
  const next_ms = await tellTogether({ organization_id, ticket_id: ticketOfWork(id), connection })
  if (next_ms === null) return { type: 'done' }
  return { type: 'retry', delay_s: Math.max(0, next_ms - sharedTime()) / 1000, counts: false }
}

const tellTogether = gathered(tellAll, { key: ({ organization_id }) => organization_id })

/** @returns of each ticket when there is more to tell; null: never */
function tellAll(due: Due[]): Promise<(number | null)[]> {
  const { connection, organization_id } = due[0]!
  const ids = due.map(({ ticket_id }) => ticket_id)
  return inTransaction({ ...connection, organization_id, actor: SYSTEM }, async (scope) => {
    const { sql } = scope
    await sql`
      select from tickets where organization_id = ${organization_id} and id ${isOneOf(sql, ids)}
      order by id for no key update`
    const kept = await keepAll(scope, await together(readAll(scope, ids)), 'now')
    const told = kept.filter(({ soon, breached }) => soon.length + breached.length > 0)
    if (told.length > 0) {
      const [rows, audience] = await together([
        sql<TicketRow[]>`
          select ${fields(scope)} from tickets t ${withNames(scope)}
          where t.organization_id = ${organization_id} and t.id = any(${told.map((one) => one.id)}::uuid[])
            and t.deleted_at is null`,
        findAudience(scope),
      ])
      const tickets = new Map(rows.map((row) => [row.id, present(row)]))
      const changes = told.flatMap(({ id, soon, breached }) => {
        const ticket = tickets.get(id)
        if (!ticket) return []
        const of = (type: NewEvent['type'], { metric, due_ms }: Stored): NewEvent => {
          const due_at = new Date(due_ms!).toISOString().replace(/\.\d+/, '')
          return { type, data: { ...ticket, promise: { metric, due_at } } }
        }
        const events = [
          ...soon.map((one) => of('ticket.sla_due_soon', one)),
          ...breached.map((one) => of('ticket.sla_breached', one)),
        ]
        return [{ events, audience }]
      })
      await publishEach(scope, changes)
    }
    const next = new Map(kept.map(({ id, next_ms }) => [id, next_ms]))
    return ids.map((id) => next.get(id) ?? null)
  })
}
