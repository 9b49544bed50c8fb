/**
 * Erases a person: everything that a contact, its tickets and its mail say of them, in every table. It works in many
 * short transactions, so that nobody waits for it. The contact goes last: what was interrupted is found again and
 * finished by the next call.
 */
import { audit } from '../../base/audit/audit'
import { withChangeTime } from '../../base/db/change-time'
import { sharedTime } from '../../base/db/shared-time'
import { ApiError } from '../../base/errors'
import { inTransaction, type Scope } from '../../base/scope'
import { firstIdAt } from '../../base/shapes/ids'
import { publish } from '../../delivery/webhooks/publish'
import { removeSoon } from '../attachments/removals'
import { requirePersonFree } from '../holds/holds'
import { deleteContactRow } from './delete-contact-row'
import { eraseElsewhere } from './erase-elsewhere'
import { eraseLedger } from './erase-ledger'
import { eraseAnswers, eraseEvents } from './erase-published'
import { eraseTickets } from './erase-tickets'
import type { Erasure } from './model'
import { ERASED, saysAnything, type Traces, tracesOf } from './traces'

/** Messages may arrive while the others are erased. */
const ROUNDS = 5
/** Clocks of processes differ by less (`base/db/clock.ts`). */
const CLOCKS_MS = 60_000

/**
 * Erases a contact. The counts are of what this call found.
 * @throws CONTACT_NOT_FOUND, ON_HOLD
 */
export async function erasePerson(scope: Scope, contact_id: string): Promise<Erasure> {
  const erasure: Erasure = { tickets: 0, messages: 0, attachments: 0 }
  for (let round = 1; ; round++) {
    const since = firstIdAt(sharedTime() - CLOCKS_MS)
    const traces = await tracesOf(scope, contact_id)
    await inTransaction(scope, (inner) => requirePersonFree(inner, traces))
    await endWriting(scope, traces)
    // Before the rows whose ids lead to them.
    await eraseAnswers(scope, traces)
    await eraseEvents(scope, traces)
    await eraseLedger(scope, traces)
    for (const { messages, attachments } of [
      await eraseTickets(scope, traces.tickets),
      await eraseElsewhere(scope, traces),
    ]) {
      erasure.messages += messages
      erasure.attachments += attachments
    }
    erasure.tickets = traces.tickets.length
    if (await inTransaction(scope, (inner) => removeContact(inner, traces, since))) return erasure
    if (round === ROUNDS) throw new ApiError('SERVICE_UNAVAILABLE', { reason: 'New messages arrive all the time' })
  }
}

/**
 * Ends the tokens of the contact, so that it writes nothing more, and removes the unused uploads that it, and the
 * contacts that were merged into it, have left.
 */
async function endWriting(scope: Scope, { contact_id, contact_ids }: Traces): Promise<void> {
  await inTransaction(scope, async ({ sql, organization_id }) => {
    await sql`delete from contact_tokens where organization_id = ${organization_id} and contact_id = ${contact_id}`
    const removed = await sql<{ storage_key: string }[]>`
      delete from attachments
      where organization_id = ${organization_id} and uploader_id = any(${contact_ids}::uuid[])
        and message_id is null
      returning storage_key`
    await removeSoon(sql, removed)
  })
}

/**
 * Removes the contact in the caller's transaction, unless it got other messages, tickets or addresses meanwhile, or was
 * merged into another.
 * @param since the lowest id of an event that was written meanwhile
 * @returns false when there is more to erase
 */
async function removeContact(scope: Scope, traces: Traces, since: string): Promise<boolean> {
  const { contact_id: id, email_keys } = traces
  const { sql, organization_id } = scope
  // Tickets that are made for it wait, participants do not.
  const locked = await sql`
    select 1 from contacts where organization_id = ${organization_id} and id = ${id} for no key update`
  const addresses = await sql<{ email_key: string }[]>`
    select email_key from contact_addresses where organization_id = ${organization_id} and contact_id = ${id}`
  if (locked.length === 0 || addresses.some(({ email_key }) => !email_keys.includes(email_key))) return false
  const left = await sql`
    select 1 from tickets t
    where t.organization_id = ${organization_id} and t.contact_id = ${id} and (t.erased_at is null or t.subject <> ${ERASED} or t.external_id is not null or t.custom <> '{}' or exists (
      select 1 from messages m
      where m.organization_id = ${organization_id} and m.ticket_id = coalesce(t.merged_into_id, t.id)
        and coalesce(m.original_ticket_id, m.ticket_id) = t.id and ${saysAnything(scope)}
    ) or exists (
      select 1 from drafts d
      where d.organization_id = ${organization_id} and d.ticket_id = coalesce(t.merged_into_id, t.id)
        and coalesce(d.original_ticket_id, d.ticket_id) = t.id
    ))
    limit 1`
  if (left.length > 0) return false
  const time = await lockTickets(scope, id)
  await sql`
    update tickets set contact_id = null, updated_at = ${time}
    where organization_id = ${organization_id} and contact_id = ${id}`
  await deleteContactRow(scope, id)
  // What others did meanwhile to its tickets, which are locked now, was told with its name.
  await eraseEvents(scope, traces, since)
  await publish(scope, [{ type: 'contact.deleted', data: { id } }])
  await audit(scope, { action: 'contact.erased', resource: { type: 'contact', id } })
  return true
}

/**
 * Locks the tickets of the contact until the caller's transaction ends. @returns the time from which they are locked
 */
async function lockTickets({ sql, organization_id }: Scope, contact_id: string): Promise<string> {
  const [, time] = await withChangeTime(
    sql,
    sql`
      select 1 from tickets where organization_id = ${organization_id} and contact_id = ${contact_id}
      order by id for no key update`,
  )
  return time
}
