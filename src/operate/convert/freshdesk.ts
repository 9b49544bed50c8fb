/** Converts Freshdesk: its JSON export, or saved answers of its API. Files are those saved in `attachments`. */
import { type Losses, noLosses } from '../import/fitting'
import { bodiesOf, keyed, Labels, leaveNoPlace, timesOf } from './foreign-rows'
import {
  customOf,
  emailOf,
  emailsOf,
  fieldsOf,
  firstOf,
  idOf,
  linesOf,
  listOf,
  minutesOf,
  nameOf,
  objectsOf,
  subjectOf,
  textOf,
} from './foreign-values'
import { type Foreign, itemsOf } from './read-json'
import type { Source } from './source'
import type { OutFolder } from './write-folder'

const KEY = keyed('freshdesk')

/** Statuses of an organization's own have higher numbers: they are not done. */
const STATUSES: Record<string, string> = { '2': 'open', '3': 'pending', '4': 'resolved', '5': 'closed' }
const PRIORITIES: Record<string, string> = { '1': 'low', '2': 'normal', '3': 'high', '4': 'urgent' }

const KINDS = ['companies', 'agents', 'contacts', 'groups']

type Person = { name: string; email: string | undefined }
type Known = {
  agents: Map<string, Person>
  contacts: Map<string, Person>
  groups: Map<string, string>
  labels: Labels
  tickets: Set<string>
}
type Way = Known & { source: Source; out: OutFolder }

export async function convertFreshdesk(source: Source, out: OutFolder): Promise<void> {
  const known: Known = {
    ...{ agents: new Map(), contacts: new Map(), groups: new Map(), labels: new Labels(KEY, out), tickets: new Set() },
  }
  const seen = new Set<string>()
  const isNew = (kind: string, id: unknown) => !seen.has(`${kind} ${id}`) && seen.add(`${kind} ${id}`)
  for await (const { kind, item } of itemsOf(source, KINDS)) {
    if (!isNew(kind, item.id)) continue
    if (kind === 'companies') writeCompany(item, out)
    else if (kind === 'agents') writeAgent(item, known, out)
    else if (kind === 'groups') known.groups.set(textOf(item.id), textOf(item.name))
    else writeContact(item, known, out)
  }
  const way = { ...known, source, out }
  for await (const { item } of itemsOf(source, ['tickets'])) {
    if (isNew('tickets', item.id)) await writeTicket(item, way)
  }
  for await (const { kind, item, number } of itemsOf(source, ['tickets', 'conversations', 'time_entries'])) {
    const ticket_id = kind === 'tickets' ? textOf(item.id) : firstOf(item.ticket_id, number)
    const of = kind === 'time_entries' ? kind : 'conversations'
    for (const one of kind === 'tickets' ? objectsOf(item.conversations) : [item]) {
      const file = kind === 'time_entries' ? kind : 'messages'
      if (idOf(one.id) === undefined) out.leaveOut(file, null, 'has no id')
      else if (!isNew(of, one.id)) continue
      else if (!known.tickets.has(ticket_id)) out.leaveOut(file, KEY(one.id), 'its ticket is not brought')
      else if (kind === 'time_entries') writeTime(one, ticket_id, way)
      else await writeConversation(one, ticket_id, way)
    }
  }
}

function writeCompany(company: Foreign, out: OutFolder): void {
  const { id, name, domains, description, note, health_score, account_tier, renewal_date, industry } = company
  const losses = noLosses()
  const custom = customOf(
    { ...fieldsOf(company.custom_fields), health_score, account_tier, renewal_date, industry },
    losses,
  )
  out.write(
    'companies',
    {
      ...{ external_id: KEY(id), name: nameOf(textOf(name)), domains: listOf(domains) },
      ...{ notes: linesOf(description, note), custom, ...timesOf(company) },
    },
    losses,
  )
}

function writeAgent(agent: Foreign, { agents }: Known, out: OutFolder): void {
  const contact = fieldsOf(agent.contact)
  const email = emailOf(contact.email ?? agent.email)
  const person = { name: nameOf(firstOf(contact.name, agent.name), email), email }
  agents.set(textOf(agent.id), person)
  if (email) out.write('users', { external_id: KEY(agent.id), ...person, role: 'agent' })
  else out.leaveOut('users', KEY(agent.id), 'has no usable address')
}

function writeContact(contact: Foreign, { contacts }: Known, out: OutFolder): void {
  const { id, phone, mobile, company_id, description, job_title, address, twitter_id, tags } = contact
  const email = emailOf(contact.email)
  const person = { name: nameOf(textOf(contact.name), email), email }
  contacts.set(textOf(id), person)
  if (!email) return void out.leaveOut('contacts', KEY(id), 'has no usable address')
  const losses = noLosses()
  const number = firstOf(phone, mobile)
  const others = { mobile: mobile === number ? null : mobile, job_title, address, twitter_id, tags }
  const custom = customOf({ ...fieldsOf(contact.custom_fields), ...others }, losses)
  leaveNoPlace(contact, ['other_companies'], losses)
  out.write(
    'contacts',
    {
      ...{ external_id: KEY(id), ...person, emails: emailsOf(listOf(contact.other_emails).map(textOf).join(' ')) },
      ...{ phone: number, notes: textOf(description), company_id: idOf(company_id) && KEY(company_id), custom },
      ...timesOf(contact),
    },
    losses,
  )
}

async function writeTicket(ticket: Foreign, way: Way): Promise<void> {
  const { agents, contacts, groups, labels, tickets, out } = way
  const id = textOf(ticket.id)
  if (ticket.deleted || ticket.spam)
    return void out.leaveOut('tickets', KEY(id), ticket.deleted ? 'was deleted' : 'is spam')
  tickets.add(id)
  const requester = contacts.get(textOf(ticket.requester_id))
  const [status, responder] = [textOf(ticket.status), idOf(ticket.responder_id)]
  const losses = noLosses()
  const { type, due_by, product_id } = ticket
  const group = groups.get(textOf(ticket.group_id)) ?? ticket.group_id
  const own_status = STATUSES[status] ? null : ticket.status
  if (own_status) losses.left_out.push({ path: '/status', message: `${status} is the desk's own, and became open` })
  if (responder && !agents.has(responder)) {
    losses.left_out.push({ path: '/assignee_id', message: 'is no agent of the source' })
  }
  leaveNoPlace(ticket, ['fwd_emails', 'association_type'], losses)
  out.write(
    'tickets',
    {
      contact_id: requester?.email ? KEY(ticket.requester_id) : null,
      ...{ external_id: KEY(id), code: id, subject: subjectOf(textOf(ticket.subject)) },
      ...{ status: STATUSES[status] ?? 'open', priority: PRIORITIES[textOf(ticket.priority)] ?? 'normal' },
      assignee_id: responder && agents.get(responder)?.email ? KEY(responder) : undefined,
      company_id: idOf(ticket.company_id) && KEY(ticket.company_id),
      label_ids: labels.keysOf(listOf(ticket.tags)),
      custom: customOf({ ...fieldsOf(ticket.custom_fields), type, due_by, product_id, group }, losses),
      ...timesOf(ticket),
    },
    losses,
  )
  const copied = [...listOf(ticket.cc_emails), ...listOf(ticket.reply_cc_emails)].map(textOf)
  for (const email of emailsOf(copied.join(' '))) {
    out.write('participants', { external_id: `${KEY(id)}:${email}`, ticket_id: KEY(id), email, confirmed: true })
  }
  await writeDescription(ticket, requester, way)
}

async function writeDescription(ticket: Foreign, requester: Person | undefined, way: Way): Promise<void> {
  const [html, text] = [textOf(ticket.description), textOf(ticket.description_text)]
  if (html === '' && text === '' && objectsOf(ticket.attachments).length === 0) return
  const losses = noLosses()
  const { name = 'Unknown', email = null } = requester ?? {}
  const attachments = await filesOf(ticket, way, losses)
  way.out.write(
    'messages',
    {
      ...{ external_id: `${KEY(ticket.id)}:description`, ticket_id: KEY(ticket.id), direction: 'inbound' },
      ...{ sender: { name, email }, ...bodiesOf(way.source.show(html, placeOf), text), attachments },
      created_at: timesOf(ticket).created_at,
    },
    losses,
  )
}

async function writeConversation(one: Foreign, ticket_id: string, way: Way): Promise<void> {
  const known = way.agents.get(textOf(one.user_id)) ?? way.contacts.get(textOf(one.user_id))
  const email = known?.email ?? emailsOf(textOf(one.from_email))[0]
  const losses = noLosses()
  if (listOf(one.bcc_emails).length > 0) losses.left_out.push({ path: '/bcc', message: 'blind copies are not kept' })
  const attachments = await filesOf(one, way, losses)
  way.out.write(
    'messages',
    {
      ...{ external_id: KEY(one.id), ticket_id: KEY(ticket_id) },
      ...(one.private ? { is_internal: true } : { direction: one.incoming ? 'inbound' : 'outbound' }),
      sender: { name: known?.name ?? nameOf('', email), email: email ?? null },
      ...bodiesOf(way.source.show(textOf(one.body), placeOf), textOf(one.body_text)),
      cc: emailsOf(listOf(one.cc_emails).map(textOf).join(' ')),
      ...{ attachments, created_at: timesOf(one).created_at },
    },
    losses,
  )
}

function filesOf({ attachments }: Foreign, { source, out }: Way, losses: Losses): Promise<object[]> {
  const files = objectsOf(attachments).map(({ id, name, content_type, attachment_url }) => ({
    shown_at: placeOf(textOf(attachment_url)),
    places: [`attachments/${textOf(id)}/${textOf(name)}`, `attachments/${textOf(id)}`],
    ...{ id: textOf(id), filename: textOf(name), content_type: textOf(content_type) || undefined },
  }))
  return source.attach(files, out, losses)
}

/** The address of a stored file is signed anew each time. */
function placeOf(address: string): string {
  return /\/helpdesk\/attachments\/[^?#]*/.exec(address)?.[0] ?? address
}

function writeTime(entry: Foreign, ticket_id: string, { agents, contacts, out }: Way): void {
  const [hours = 0, minutes = 0] = textOf(entry.time_spent).split(':').map(Number)
  const losses = noLosses()
  const duration_minutes = minutesOf(hours * 60 + minutes, losses)
  if (!duration_minutes) return void out.leaveOut('time_entries', KEY(entry.id), 'is no time')
  const agent = agents.get(textOf(entry.agent_id)) ?? contacts.get(textOf(entry.agent_id))
  out.keepMember(KEY(entry.agent_id), agent)
  const { created_at } = timesOf(entry)
  out.write(
    'time_entries',
    {
      ...{ external_id: KEY(entry.id), ticket_id: KEY(ticket_id), user_id: KEY(entry.agent_id), duration_minutes },
      ...{ user_name: agent?.name, description: textOf(entry.note), created_at },
      ...(typeof entry.billable === 'boolean' && { billable: entry.billable }),
      date: firstOf(entry.executed_at, entry.created_at).slice(0, 10),
    },
    losses,
  )
}
