/** Converts Freshdesk: its JSON export, or saved answers of its API. Files are those saved in `attachments`. */
import { customOf, cut, emailOf, emailsOf, given, minutesOf, nameOf, subjectOf } from './foreign-values'
import { type Foreign, itemsOf } from './read-json'
import type { Source } from './source'
import type { OutFolder } from './write-folder'

const KEY = (id: unknown) => `freshdesk:${id}`

/** Statuses of an organization's own have higher numbers: they are not done. */
const STATUSES: Record<string, string> = { '2': 'open', '3': 'pending', '4': 'resolved', '5': 'closed' }
const PRIORITIES: Record<string, string> = { '1': 'low', '2': 'normal', '3': 'high', '4': 'urgent' }

const KINDS = ['companies', 'agents', 'contacts']

type Person = { name: string; email: string | undefined }
type Known = {
  agents: Map<string, Person>
  contacts: Map<string, Person>
  tags: Set<string>
  tickets: Map<string, string>
}
type Way = Known & { source: Source; out: OutFolder }

export async function convertFreshdesk(source: Source, out: OutFolder): Promise<void> {
  const known: Known = { agents: new Map(), contacts: new Map(), tags: new Set(), tickets: new Map() }
  const seen = new Set<string>()
  const isNew = (kind: string, id: unknown) => !seen.has(`${kind} ${id}`) && seen.add(`${kind} ${id}`)
  for await (const { kind, item } of itemsOf(source, KINDS)) {
    if (!isNew(kind, item.id)) continue
    if (kind === 'companies') writeCompany(item, out)
    else if (kind === 'agents') writeAgent(item, known, out)
    else writeContact(item, known, out)
  }
  const way = { ...known, source, out }
  for await (const { item } of itemsOf(source, ['tickets'])) {
    if (isNew('tickets', item.id)) await writeTicket(item, way)
  }
  for await (const { kind, item, number } of itemsOf(source, ['tickets', 'conversations', 'time_entries'])) {
    const ticket_id = String(kind === 'tickets' ? item.id : (item.ticket_id ?? number))
    const requester = known.tickets.get(ticket_id)
    if (requester === undefined) continue
    if (kind === 'time_entries') {
      if (isNew(kind, item.id)) writeTime(item, ticket_id, out)
      continue
    }
    for (const one of kind === 'tickets' ? (item.conversations ?? []) : [item]) {
      if (isNew('conversations', one.id)) await writeConversation(one, ticket_id, way)
    }
  }
}

function timesOf({ created_at, updated_at }: Foreign) {
  return { created_at: created_at ?? undefined, updated_at: updated_at ?? undefined }
}

function writeCompany(company: Foreign, out: OutFolder): void {
  const { id, name, domains, description, note } = company
  const notes = cut([description, note].filter(Boolean).join('\n'), 10_000)
  const custom = customOf(company.custom_fields ?? {})
  const fields = {
    external_id: KEY(id),
    name: nameOf(name ?? ''),
    domains: (domains ?? []).slice(0, 20),
    notes,
    custom,
  }
  out.write('companies', given({ ...fields, ...timesOf(company) }))
}

function writeAgent({ id, contact = {}, type, ...own }: Foreign, known: Known, out: OutFolder): void {
  const email = emailOf(contact.email ?? own.email)
  const person = { name: nameOf(contact.name ?? own.name ?? '', email), email }
  known.agents.set(String(id), person)
  if (email) out.write('users', given({ external_id: KEY(id), ...person, role: 'agent' }))
}

function writeContact(contact: Foreign, known: Known, out: OutFolder): void {
  const { id, other_emails = [], phone, mobile, company_id, description } = contact
  const email = emailOf(contact.email)
  const person = { name: nameOf(contact.name ?? '', email), email }
  known.contacts.set(String(id), person)
  if (!email) return
  out.write(
    'contacts',
    given({
      ...{ external_id: KEY(id), ...person, emails: emailsOf((other_emails ?? []).join(' ')).slice(0, 19) },
      ...{ phone: cut(phone ?? mobile, 64), notes: cut(description, 10_000) },
      ...{ company_id: company_id ? KEY(company_id) : undefined, custom: customOf(contact.custom_fields ?? {}) },
      ...timesOf(contact),
    }),
  )
}

async function writeTicket(ticket: Foreign, way: Way): Promise<void> {
  if (ticket.deleted || ticket.spam) return
  const { agents, contacts, tags, tickets, out } = way
  const id = String(ticket.id)
  tickets.set(id, String(ticket.requester_id))
  const label_ids = [...new Set<string>(ticket.tags ?? [])].flatMap((tag) => cut(tag, 64)?.toLowerCase() ?? [])
  for (const tag of label_ids) {
    if (!tags.has(tag)) out.write('labels', { external_id: KEY(tag), name: tag })
    tags.add(tag)
  }
  const requester = contacts.get(String(ticket.requester_id))
  out.write('tickets', {
    contact_id: requester?.email ? KEY(ticket.requester_id) : null,
    ...given({
      ...{ external_id: KEY(id), code: id, subject: subjectOf(ticket.subject ?? '') },
      ...{ status: STATUSES[ticket.status] ?? 'open', priority: PRIORITIES[ticket.priority] ?? 'normal' },
      assignee_id: agents.has(String(ticket.responder_id)) ? KEY(ticket.responder_id) : undefined,
      company_id: ticket.company_id ? KEY(ticket.company_id) : undefined,
      ...{ label_ids: label_ids.map(KEY), custom: customOf(ticket.custom_fields ?? {}), ...timesOf(ticket) },
    }),
  })
  for (const email of emailsOf((ticket.cc_emails ?? []).join(' '))) {
    out.write('participants', { external_id: `${KEY(id)}:${email}`, ticket_id: KEY(id), email, confirmed: true })
  }
  if (!ticket.description && !ticket.description_text) return
  const { name = 'Unknown', email = null } = requester ?? {}
  out.write(
    'messages',
    given({
      ...{ external_id: `${KEY(id)}:description`, ticket_id: KEY(id), direction: 'inbound', sender: { name, email } },
      ...{ body_html: ticket.description, body: ticket.description_text },
      ...{ attachments: await filesOf(ticket, way), created_at: ticket.created_at },
    }),
  )
}

async function writeConversation(one: Foreign, ticket_id: string, way: Way): Promise<void> {
  const known = way.agents.get(String(one.user_id)) ?? way.contacts.get(String(one.user_id))
  const email = known?.email ?? emailsOf(String(one.from_email ?? ''))[0]
  way.out.write(
    'messages',
    given({
      ...{ external_id: KEY(one.id), ticket_id: KEY(ticket_id) },
      ...(one.private ? { is_internal: true } : { direction: one.incoming ? 'inbound' : 'outbound' }),
      sender: { name: known?.name ?? nameOf('', email), email: email ?? null },
      ...{ body_html: one.body, body: one.body_text ?? (one.body ? undefined : ' ') },
      cc: emailsOf((one.cc_emails ?? []).join(' ')),
      ...{ attachments: await filesOf(one, way), created_at: one.created_at ?? undefined },
    }),
  )
}

async function filesOf({ attachments = [] }: Foreign, { source, out }: Way) {
  const files = []
  for (const { id, name, content_type } of attachments) {
    const url = await source.copyFile([`attachments/${id}/${name}`, `attachments/${id}`], String(id), out)
    if (url) files.push(given({ url, filename: String(name ?? 'file'), content_type }))
  }
  return files
}

function writeTime(entry: Foreign, ticket_id: string, out: OutFolder): void {
  const [hours = 0, minutes = 0] = String(entry.time_spent ?? '')
    .split(':')
    .map(Number)
  const duration_minutes = minutesOf(hours * 60 + minutes)
  if (!duration_minutes) return
  out.write(
    'time_entries',
    given({
      ...{ external_id: KEY(entry.id), ticket_id: KEY(ticket_id), user_id: KEY(entry.agent_id), duration_minutes },
      ...{ description: cut(entry.note, 10_000), billable: entry.billable ?? undefined },
      ...{ date: (entry.executed_at ?? entry.created_at)?.slice(0, 10), created_at: entry.created_at ?? undefined },
    }),
  )
}
