/**
 * Erases a person: everything that a contact, its tickets and its mail say of them, in every table. It works in many
 * short transactions, so that nobody waits for it. The contact goes last: what was interrupted is found again and
 * finished by the next call, or by itself.
 */
import { audit } from '../../base/audit/audit'
import { withChangeTime } from '../../base/db/change-time'
import { sharedTime } from '../../base/db/shared-time'
import { ApiError } from '../../base/errors'
import { inTransaction, type Scope } from '../../base/scope'
import { firstIdAt } from '../../base/shapes/ids'
import { publish } from '../../delivery/webhooks/publish'
import { requirePath } from '../../http/request/resources'
import { removeSoon } from '../attachments/removals'
import { beginDeed, type Deed, endDeed, erasureOf, lockDeed, runDeed, STEP } from '../deeds/deeds'
import { requirePersonFree } from '../holds/holds'
import { ERASED_COLUMNS } from '../tickets/ticket-fields'
import { deleteContactRow } from './delete-contact-row'
import { finishErasures, noteErased } from './erase-conversations'
import { eraseElsewhere } from './erase-elsewhere'
import { eraseLedger } from './erase-ledger'
import { eraseAnswers, eraseEvents } from './erase-published'
import { eraseTickets } from './erase-tickets'
import type { Erasure } from './model'
import { saysAnything, type Traces, tracesOf } from './traces'

/** Messages may arrive while the others are erased. */
const ROUNDS = 5
/** Clocks of processes differ by less (`base/db/clock.ts`). */
const CLOCKS_MS = 60_000

/**
 * Erases a contact, or goes on with its erasure. The counts are of what this call found.
 * @throws CONTACT_NOT_FOUND, ON_HOLD; SERVICE_UNAVAILABLE while another deed works on it
 */
export async function erasePerson(scope: Scope, contact_id: string): Promise<Erasure> {
  const traces = await tracesOf(scope, contact_id)
  const deed = await inTransaction(scope, (inner) => begin(inner, traces))
  return runDeed(scope, deed, eraseAll)
}

/** Marks the contact, so that nobody else writes to it, and lists the erasure. */
async function begin(scope: Scope, traces: Traces): Promise<Deed> {
  const { sql, organization_id } = scope
  const id = traces.contact_id
  const [contact] = await sql<{ deed_id: string | null }[]>`
    select deed_id from contacts where organization_id = ${organization_id} and id = ${id} for no key update`
  if (!contact) {
    await requirePath(scope, { contact_id: id })
    throw new ApiError('CONTACT_NOT_FOUND')
  }
  if (contact.deed_id !== null) return erasureOf(scope, contact.deed_id)
  await requirePersonFree(scope, traces)
  await audit(scope, { action: 'contact.erased', resource: { type: 'contact', id } })
  return beginDeed(scope, { kind: 'erase contact', subject_id: id, source_ids: [] }, [id])
}

/** Does all that is left of an erasure. */
export async function eraseAll(scope: Scope, deed: Deed): Promise<Erasure> {
  const erasure: Erasure = { tickets: 0, messages: 0, attachments: 0 }
  for (let round = 1; await inTransaction(scope, (inner) => lockDeed(inner, deed.id)); round++) {
    if (round > ROUNDS) throw new ApiError('SERVICE_UNAVAILABLE', { reason: 'New messages arrive all the time' })
    const since = firstIdAt(sharedTime() - CLOCKS_MS)
    const traces = await tracesOf(scope, deed.subject_id)
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
    const unlinked = await unlinkTickets(scope, traces.contact_id)
    erasure.tickets += unlinked.tickets
    const until = firstIdAt(sharedTime() - CLOCKS_MS)
    await eraseEvents(scope, traces, since)
    await inTransaction(scope, (inner) => removeContact(inner, deed, traces, { until, walks: unlinked.walks }))
  }
  // Events of messages that quoted the person are left.
  await finishErasures(scope)
  return erasure
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
 * Takes the contact from its tickets, some in each transaction, until one is found that says something again. Their ids
 * are noted for a walk over the events that were written meanwhile, also after a crash.
 */
async function unlinkTickets(scope: Scope, contact_id: string): Promise<{ tickets: number; walks: string[] }> {
  const walks: string[] = []
  for (let tickets = 0; ; ) {
    const count = await inTransaction(scope, async (inner) => {
      const { sql, organization_id } = inner
      const [rows, time] = await withChangeTime(
        sql,
        sql<{ id: string }[]>`
          select id from tickets where organization_id = ${organization_id} and contact_id = ${contact_id}
          order by id limit ${STEP} for no key update`,
      )
      const ids = rows.map(({ id }) => id)
      if (ids.length === 0 || (await sayAnything(inner, ids))) return 0
      await sql`
        update tickets set contact_id = null, updated_at = ${time}
        where organization_id = ${organization_id} and id = any(${ids}::uuid[])`
      walks.push(await noteErased(inner, ids))
      return ids.length
    })
    if (count === 0) return { tickets, walks }
    tickets += count
  }
}

/** Tells whether one of the tickets, which the caller has locked, says something. */
async function sayAnything(scope: Scope, ids: string[]): Promise<boolean> {
  const { sql, organization_id } = scope
  const says = Object.entries(ERASED_COLUMNS).map(([name, left]) => sql`or t.${sql(name)} is distinct from ${left}`)
  const left = await sql`
    select 1 from tickets t
    where t.organization_id = ${organization_id} and t.id = any(${ids}::uuid[]) and (t.erased_at is null ${says} or exists (
      select 1 from messages m
      where m.organization_id = ${organization_id} and m.ticket_id = coalesce(t.merged_into_id, t.id)
        and coalesce(m.original_ticket_id, m.ticket_id) = t.id and ${saysAnything(scope)}
    ) or exists (
      select 1 from drafts d
      where d.organization_id = ${organization_id} and d.ticket_id = coalesce(t.merged_into_id, t.id)
        and coalesce(d.original_ticket_id, d.ticket_id) = t.id
    ))
    limit 1`
  return left.length > 0
}

/**
 * Removes the contact in the caller's transaction, unless it got other messages, tickets or addresses meanwhile: there
 * is more to erase then.
 * @param until the lowest id of an event that no walk has seen
 * @param walks notes of the walk that is done
 */
async function removeContact(
  scope: Scope,
  deed: Deed,
  traces: Traces,
  { until, walks }: { until: string; walks: string[] },
): Promise<void> {
  const { contact_id: id, email_keys } = traces
  const { sql, organization_id } = scope
  if (!(await lockDeed(scope, deed.id))) return
  // Tickets that are made for it wait, participants do not.
  await sql`select 1 from contacts where organization_id = ${organization_id} and id = ${id} for no key update`
  const addresses = await sql<{ email_key: string }[]>`
    select email_key from contact_addresses where organization_id = ${organization_id} and contact_id = ${id}`
  if (addresses.some(({ email_key }) => !email_keys.includes(email_key))) return
  const left = await sql`
    select 1 from tickets where organization_id = ${organization_id} and contact_id = ${id} limit 1`
  if (left.length > 0) return
  await deleteContactRow(scope, id)
  await eraseEvents(scope, traces, until)
  await sql`
    delete from retention_erasures where organization_id = ${organization_id} and id = any(${walks}::uuid[])`
  await publish(scope, [{ type: 'contact.deleted', data: { id } }])
  await endDeed(scope, deed)
}
