/**
 * Requests for a rating. Each ticket has one at most: a letter to its contact, which leaves some time after the ticket
 * was resolved, or when somebody asks. It is written when it leaves (`mail/letters/rating-letter.ts`).
 */
import { newId } from '../../base/db/columns'
import { sharedTime } from '../../base/db/shared-time'
import type { Fragment, Sql } from '../../base/db/transact'
import { ApiError } from '../../base/errors'
import { afterCommit, type Scope } from '../../base/scope'
import { scheduleAll, withdrawWork } from '../../delivery/outbox/schedule'
import { wake } from '../../delivery/outbox/wake'
import { findMailbox } from '../messages/addressees'

/** The time in which the links of a letter are good, and in which a letter that waits for its server is not too old. */
const GOOD_DAYS = 30

/** Tells if a ticket of a status may be rated, and its contact asked. */
export function isFinished(status: string): boolean {
  return status === 'resolved' || status === 'closed'
}

/** A ticket, as far as it says whether its contact is asked. */
type Standing = {
  id: string
  status: string
  contact: { id: string; name: string; email: string } | null
  mailbox: { id: string } | null
}

/** Asks for a rating, or takes that back, as the status of a ticket changes that the caller has locked. */
export async function followStatus(scope: Scope, before: Standing, after: Standing): Promise<void> {
  if (isFinished(before.status) && !isFinished(after.status)) return withdrawRequests(scope, [after.id])
  if (after.status !== 'resolved' || after.contact === null) return
  const { sql, organization_id } = scope
  const [{ minutes }] = await sql<[{ minutes: number | null }]>`
    select ask_rating_after_minutes as minutes from organizations where id = ${organization_id}`
  const mailbox = minutes === null ? undefined : await findMailbox(scope, addressed(after))
  if (minutes !== null && mailbox) await askLater(scope, { ticket_id: after.id, mailbox_id: mailbox.id }, minutes)
}

/** Gives a ticket as those see it who look for the recipients of its answers. */
export function addressed({ id, contact, mailbox }: Standing) {
  return {
    id,
    mailbox_id: mailbox?.id ?? null,
    contact_id: contact?.id ?? null,
    contact_name: contact?.name ?? null,
    contact_email: contact?.email ?? null,
  }
}

/** A ticket whose contact is asked, and the mailbox that asks. */
type ToAsk = { ticket_id: string; mailbox_id: string }

/** Has the contact of a ticket asked after a while. Of two requests the first stays. */
async function askLater(scope: Scope, { ticket_id, mailbox_id }: ToAsk, minutes: number): Promise<void> {
  const { sql, organization_id } = scope
  const id = newId()
  const added = await sql`
    insert into rating_requests (organization_id, id, ticket_id, is_automatic)
    values (${organization_id}, ${id}, ${ticket_id}, true)
    on conflict (organization_id, ticket_id) do nothing`
  if (added.count > 0) await schedule(scope, { id, ticket_id, mailbox_id }, sharedTime() + minutes * 60_000)
}

/**
 * Has the contact of a ticket asked now, in the caller's transaction, which has locked the ticket. A request that waits
 * since the ticket was resolved waits no more.
 * @throws RATING_REQUESTED when the contact was asked before
 */
export async function askNow(scope: Scope, { ticket_id, mailbox_id }: ToAsk): Promise<void> {
  const { sql, organization_id } = scope
  const id = newId()
  const [asked] = await sql<{ id: string }[]>`
    insert into rating_requests as r (organization_id, id, ticket_id, is_automatic)
    values (${organization_id}, ${id}, ${ticket_id}, false)
    on conflict (organization_id, ticket_id) do update set is_automatic = false
      where r.is_automatic and r.sent_at is null
    returning r.id`
  if (!asked) throw new ApiError('RATING_REQUESTED')
  if (asked.id === id) return schedule(scope, { id, ticket_id, mailbox_id }, sharedTime())
  const now = new Date(sharedTime()).toISOString()
  await sql`
    update outbox set run_at = ${now}
    where organization_id = ${organization_id} and id = ${asked.id} and run_at > ${now}`
  afterCommit(scope, () => wake('letter'))
}

async function schedule(scope: Scope, { id, ticket_id, mailbox_id }: ToAsk & { id: string }, at_ms: number) {
  const { sql, organization_id } = scope
  const expires_at = new Date(at_ms + GOOD_DAYS * 86_400_000).toISOString()
  await sql`
    insert into letters (organization_id, id, about_id, mailbox_id, expires_at)
    values (${organization_id}, ${id}, ${ticket_id}, ${mailbox_id}, ${expires_at})`
  // Its lane is that of the answers of the mailbox: they share a server.
  await scheduleAll(scope, 'letter', mailbox_id, [{ id, run_at: new Date(at_ms).toISOString() }])
}

/** Takes back requests that have not left, in the transaction that opens the tickets. */
export function withdrawRequests(scope: Scope, ticket_ids: string[]): Promise<void> {
  return removeRequests(scope, scope.sql`ticket_id = any(${ticket_ids}::uuid[]) and sent_at is null`)
}

/** Ends requests and their links, in the transaction that merges or erases the tickets. */
export function endRequests(scope: Scope, ticket_ids: string[]): Promise<void> {
  return removeRequests(scope, scope.sql`ticket_id = any(${ticket_ids}::uuid[])`)
}

/** Forgets a request whose letter did not leave: the contact may be asked again. */
export function forgetRequest(scope: Scope, id: string): Promise<void> {
  return removeRequests(scope, scope.sql`id = ${id}`)
}

async function removeRequests(scope: Scope, condition: Fragment): Promise<void> {
  const { sql, organization_id } = scope
  const removed = await sql<{ id: string }[]>`
    delete from rating_requests where organization_id = ${organization_id} and ${condition} returning id`
  if (removed.length === 0) return
  const ids = removed.map(({ id }) => id)
  await sql`delete from letters where organization_id = ${organization_id} and id = any(${ids}::uuid[])`
  await withdrawWork(scope, 'letter', ids)
}

/**
 * SQL: the links of request `r` are good for ticket `t`, whose contact is the one who was asked, by whatever id since.
 */
export function isGood(sql: Sql, organization_id: string): Fragment {
  return sql`(
    r.sent_at > now() - make_interval(days => ${GOOD_DAYS}) and t.deleted_at is null and t.merged_into_id is null
    and (t.contact_id = r.contact_id or t.contact_id in (
      select m.contact_id from merged_contacts m
      where m.organization_id = ${organization_id} and m.id = r.contact_id
    ))
  )`
}
