/** Makes the rows of tickets: messages, labels, logged time, timeline, anchors and the search document. Pure. */
import type { InferInsertModel } from 'drizzle-orm'
import {
  activities,
  email_anchors,
  messages,
  type TICKET_PRIORITIES,
  type TICKET_STATUSES,
  ticket_labels,
  ticket_search,
  tickets,
  time_entries,
} from '../../../src/base/db/schema'
import { wordsOfCustom } from '../../../src/desk/custom/custom-words'
import { prefixOf } from '../../../src/desk/search/blocks'
import { facetWord, startVector } from '../../../src/desk/search/words'
import type { Random } from './random'
import { SPAN_MS, START_MS, type Tenant } from './tenants'
import { zipfText } from './zipf-text'

/** Tables in the order in which they are written, because triggers may look up the ticket. */
export const TABLES = { tickets, ticket_labels, messages, time_entries, ticket_search, activities, email_anchors }

export type Rows = { [Name in keyof typeof TABLES]: InferInsertModel<(typeof TABLES)[Name]>[] }

const MINUTE_MS = 60_000
/** As the product limits its documents, which these tickets do not reach. */
const MAX_DOCUMENT = 700_000
const MAX_MESSAGES = 12
/** The newest tickets, as a share of all, are those that people still work on. */
const RECENT = 0.05

export function noRows(): Rows {
  return {
    tickets: [],
    ticket_labels: [],
    messages: [],
    time_entries: [],
    ticket_search: [],
    activities: [],
    email_anchors: [],
  }
}

/** Adds the ticket with this number, and all that belongs to it. */
export async function addConversation(rows: Rows, random: Random, tenant: Tenant, number: number): Promise<void> {
  const organization_id = tenant.id
  const created_ms = START_MS + Math.floor((SPAN_MS * number) / tenant.size)
  const id = random.idAt(created_ms)
  const contact = tenant.contacts[random.mostlyLow(tenant.contacts.length)]!
  const status = statusAt(random, 1 - number / tenant.size)
  const priority = drawPriority(random)
  const assignee = random.chance(0.85) ? tenant.users[random.mostlyLow(tenant.users.length)]! : undefined
  const agent = assignee ?? tenant.users[0]!
  const code = `${tenant.prefix}-${number}`
  const subject = zipfText(random, 3 + random.below(6))
  const custom = customOf(number)
  const custom_words = wordsOfCustom(organization_id, custom)!
  const written = rows.messages.length
  const texts = addMessages(rows, random, { tenant, id, number, created_ms, contact, agent })
  rows.tickets.push({
    ...turnOf(rows.messages.slice(written)),
    organization_id,
    id,
    number,
    code,
    subject,
    status,
    priority,
    contact_id: contact.id,
    company_id: contact.company_id,
    assignee_id: assignee?.id ?? null,
    team_id: random.chance(0.7) ? tenant.teams[random.mostlyLow(tenant.teams.length)]! : null,
    mailbox_id: random.chance(0.8) ? tenant.mailbox_id : null,
    custom,
    custom_words,
    sla_policy_id: isOpen(status) || number % 3 > 0 ? null : tenant.policy_id,
    ...dueOf(status, created_ms + 20 * paceOf(number)),
    updated_at: new Date(created_ms + 5 * paceOf(number)).toISOString(),
  })
  const labelled = rows.ticket_labels.length
  addLabels(rows, random, tenant, id)
  const labels = rows.ticket_labels.slice(labelled).map((label) => label.label_id)
  rows.activities.push({
    organization_id,
    id: random.idAt(created_ms),
    ticket_id: id,
    type: 'ticket.created',
    actor_type: 'system',
  })
  const document = startVector(prefixOf(tenant.number, number), MAX_DOCUMENT)
  for (const facet of [status, priority, assignee?.id ?? [], labels, custom_words].flat())
    document.addFacet(facetWord(facet))
  document.addCode(code)
  await document.addText(subject)
  for (const body of texts) await document.addText(body)
  const { vector, size } = document.finish()
  rows.ticket_search.push({ organization_id, ticket_id: id, document: vector, size })
  if (random.chance(0.3)) addTimeEntry(rows, random, tenant, { id, created_ms, agent })
}

/** The columns of a ticket that follow from its messages (`desk/turn`). */
function turnOf(messages: Rows['messages']) {
  const open = messages.filter(({ is_internal }) => !is_internal)
  const asking = open.slice(open.findLastIndex(({ direction }) => direction === 'outbound') + 1)
  return {
    ...{ last_message_id: open.at(-1)?.id, waiting_message_id: asking[0]?.id },
    ...{ message_count: open.length, attachment_count: 0 },
  }
}

/** Open tickets have a promise that is due, most of them long ago. */
function dueOf(status: string, due_ms: number) {
  const is_open = isOpen(status)
  return {
    sla_due_at: is_open ? new Date(due_ms).toISOString() : null,
    sla_soon_at: is_open ? new Date(due_ms - 60 * MINUTE_MS).toISOString() : null,
  }
}

function isOpen(status: string): boolean {
  return status === 'open' || status === 'pending'
}

/** The time between two messages of a ticket: 5 minutes to 8 hours. */
function paceOf(number: number): number {
  return (5 + ((number * 7919) % 475)) * MINUTE_MS
}

/** A field of few values, one of two values, and one of as many as there are tickets. */
function customOf(number: number) {
  const tier = number % 50 === 0 ? 'gold' : number % 4 === 1 ? 'silver' : 'bronze'
  return { tier, is_renewed: number % 3 === 0, order_number: number }
}

type Ticket = {
  tenant: Tenant
  id: string
  number: number
  created_ms: number
  contact: Tenant['contacts'][number]
  agent: Tenant['users'][number]
}

/** Customer and agent take turns. @returns the texts */
function addMessages(rows: Rows, random: Random, ticket: Ticket): string[] {
  const { tenant, id: ticket_id, number, created_ms, contact, agent } = ticket
  const organization_id = tenant.id
  let count = 1
  while (count < MAX_MESSAGES && random.chance(0.6)) count++
  return Array.from({ length: count }, (_, place) => {
    const id = random.idAt(created_ms + place * paceOf(number))
    const is_inbound = place % 2 === 0
    const is_internal = !is_inbound && random.chance(0.3)
    let body = zipfText(random, 8 + random.below(36))
    const mention = random.share()
    if (mention < 0.08) body += ` contact ${contact.email}`
    else if (mention < 0.12) body += ` see ${tenant.prefix}-${1 + random.below(number)}`
    const email_message_id = is_inbound ? `${id}@mail.example` : null
    rows.messages.push({
      organization_id,
      id,
      ticket_id,
      is_internal,
      direction: is_internal ? null : is_inbound ? 'inbound' : 'outbound',
      sender_name: is_inbound ? contact.name : agent.name,
      sender_email: is_inbound ? contact.email : 'support@example.com',
      email_message_id,
      ...{ body, format: 'text' },
      body_html: `<p>${body}</p>`,
    })
    if (email_message_id) rows.email_anchors.push({ organization_id, email_message_id, ticket_id, message_id: id })
    return body
  })
}

function addLabels(rows: Rows, random: Random, tenant: Tenant, ticket_id: string): void {
  let last = -1
  for (let draws = random.below(4); draws > 0; draws--) {
    const place = random.mostlyLow(tenant.labels.length)
    if (place <= last) continue
    last = place
    rows.ticket_labels.push({ organization_id: tenant.id, ticket_id, label_id: tenant.labels[place]! })
  }
}

function addTimeEntry(
  rows: Rows,
  random: Random,
  tenant: Tenant,
  { id, created_ms, agent }: Pick<Ticket, 'id' | 'created_ms' | 'agent'>,
): void {
  rows.time_entries.push({
    organization_id: tenant.id,
    id: random.idAt(created_ms),
    ticket_id: id,
    user_id: agent.id,
    duration_minutes: 5 + random.below(180),
    description: zipfText(random, 4),
    billable: random.chance(0.8),
    rate: 60 + random.below(90),
    currency: 'USD',
    date: new Date(created_ms).toISOString().slice(0, 10),
  })
}

/** @param age 0 for the newest ticket, 1 for the oldest */
function statusAt(random: Random, age: number): (typeof TICKET_STATUSES)[number] {
  const share = random.share()
  if (age < RECENT) return share < 0.45 ? 'open' : share < 0.65 ? 'pending' : share < 0.85 ? 'resolved' : 'closed'
  return share < 0.02 ? 'open' : share < 0.04 ? 'pending' : share < 0.2 ? 'resolved' : 'closed'
}

function drawPriority(random: Random): (typeof TICKET_PRIORITIES)[number] {
  const share = random.share()
  return share < 0.15 ? 'low' : share < 0.8 ? 'normal' : share < 0.95 ? 'high' : 'urgent'
}
