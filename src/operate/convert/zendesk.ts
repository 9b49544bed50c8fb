/** Converts Zendesk: its JSON export, or saved answers of its API. Files are those that were saved in `attachments`. */
import { customOf, cut, emailOf, given, nameOf, subjectOf } from './foreign-values'
import { type Foreign, itemsOf } from './read-json'
import type { Source } from './source'
import type { OutFolder } from './write-folder'

const KEY = (id: unknown) => `zendesk:${id}`

/** Deleted tickets are left out. */
const STATUSES: Record<string, string> = {
  ...{ new: 'open', open: 'open', hold: 'open', pending: 'pending', solved: 'resolved', closed: 'closed' },
}
const PRIORITIES = ['low', 'normal', 'high', 'urgent']

type Person = { name: string; email: string | undefined; is_agent: boolean }
/** The customers of a ticket, by which authors who are gone are told apart. */
type Ticket = { customers: Set<string> }

export async function convertZendesk(source: Source, out: OutFolder): Promise<void> {
  const people = new Map<string, Person>()
  const tags = new Set<string>()
  const tickets = new Map<string, Ticket>()
  const seen = new Set<string>()
  const isNew = (kind: string, id: unknown) => !seen.has(`${kind} ${id}`) && seen.add(`${kind} ${id}`)
  for await (const { kind, item } of itemsOf(source, ['organizations', 'users'])) {
    if (!isNew(kind, item.id)) continue
    if (kind === 'users') writePerson(item, people, out)
    else writeCompany(item, out)
  }
  for await (const { item } of itemsOf(source, ['tickets'])) {
    if (isNew('tickets', item.id)) writeTicket(item, { people, tags, tickets }, out)
  }
  for await (const { kind, item, number } of itemsOf(source, ['tickets', 'comments'])) {
    const ticket_id = String(kind === 'tickets' ? item.id : (item.ticket_id ?? number))
    const ticket = tickets.get(ticket_id)
    if (!ticket) continue
    for (const comment of kind === 'tickets' ? (item.comments ?? []) : [item]) {
      if (isNew('comments', comment.id)) await writeComment(comment, ticket_id, ticket, { people, source, out })
    }
  }
}

function writeCompany({ id, name, domain_names, notes, ...times }: Foreign, out: OutFolder): void {
  const domains = (domain_names ?? []).slice(0, 20)
  out.write(
    'companies',
    given({ external_id: KEY(id), name: nameOf(name ?? ''), domains, notes: cut(notes, 10_000), ...timesOf(times) }),
  )
}

function timesOf({ created_at, updated_at }: Foreign) {
  return { created_at: created_at ?? undefined, updated_at: updated_at ?? undefined }
}

function writePerson(user: Foreign, people: Map<string, Person>, out: OutFolder): void {
  const email = emailOf(user.email)
  const name = nameOf(user.name ?? '', email)
  const is_agent = ['agent', 'admin'].includes(user.role)
  people.set(String(user.id), { name, email, is_agent })
  if (!email) return
  const external_id = KEY(user.id)
  if (is_agent) out.write('users', { external_id, name, email, role: user.role })
  const company_id = user.organization_id ? KEY(user.organization_id) : undefined
  const notes = cut(user.notes, 10_000)
  out.write(
    'contacts',
    given({ external_id, name, email, phone: cut(user.phone, 64), notes, company_id, ...timesOf(user) }),
  )
}

type Known = { people: Map<string, Person>; tags: Set<string>; tickets: Map<string, Ticket> }

function writeTicket(ticket: Foreign, { people, tags, tickets }: Known, out: OutFolder): void {
  const status = STATUSES[ticket.status]
  if (!status) return
  const id = String(ticket.id)
  tickets.set(id, { customers: new Set([ticket.requester_id, ...(ticket.collaborator_ids ?? [])].map(String)) })
  const label_ids = [...new Set<string>(ticket.tags ?? [])].flatMap((tag) => cut(tag, 64)?.toLowerCase() ?? [])
  for (const tag of label_ids) {
    if (!tags.has(tag)) out.write('labels', { external_id: KEY(tag), name: tag })
    tags.add(tag)
  }
  const named = (ticket.custom_fields ?? ticket.fields ?? []).map(({ id, value }: Foreign) => [`field_${id}`, value])
  out.write('tickets', {
    contact_id: people.get(String(ticket.requester_id))?.email ? KEY(ticket.requester_id) : null,
    ...given({
      ...{ external_id: KEY(id), code: id, subject: subjectOf(ticket.subject ?? ''), status },
      priority: PRIORITIES.find((one) => one === ticket.priority) ?? 'normal',
      assignee_id: people.get(String(ticket.assignee_id))?.is_agent ? KEY(ticket.assignee_id) : undefined,
      company_id: ticket.organization_id ? KEY(ticket.organization_id) : undefined,
      ...{ label_ids: label_ids.map(KEY), custom: customOf(Object.fromEntries(named)), ...timesOf(ticket) },
    }),
  })
  for (const one of ticket.collaborator_ids ?? []) {
    const person = people.get(String(one))
    if (!person?.email || person.is_agent) continue
    const { name, email } = person
    out.write('participants', { external_id: `${KEY(id)}:${one}`, ticket_id: KEY(id), name, email, confirmed: true })
  }
}

type Way = { people: Map<string, Person>; source: Source; out: OutFolder }

async function writeComment(comment: Foreign, ticket_id: string, ticket: Ticket, { people, source, out }: Way) {
  const author = people.get(String(comment.author_id))
  const from = comment.via?.source?.from ?? {}
  const email = author?.email ?? emailOf(from.address)
  const is_customer = author ? !author.is_agent : ticket.customers.has(String(comment.author_id))
  const attachments = []
  for (const file of comment.attachments ?? []) {
    const places = [`attachments/${file.id}/${file.file_name}`, `attachments/${file.id}`]
    const url = await source.copyFile(places, String(file.id), out)
    if (url)
      attachments.push(given({ url, filename: String(file.file_name ?? 'file'), content_type: file.content_type }))
  }
  out.write(
    'messages',
    given({
      ...{ external_id: KEY(comment.id), ticket_id: KEY(ticket_id) },
      ...(comment.public === false ? { is_internal: true } : { direction: is_customer ? 'inbound' : 'outbound' }),
      sender: { name: author?.name ?? nameOf(from.name ?? '', email), email: email ?? null },
      body_html: comment.html_body,
      body: comment.plain_body ?? comment.body ?? '',
      ...{ attachments, created_at: comment.created_at ?? undefined },
    }),
  )
}
