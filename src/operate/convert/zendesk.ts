/** Converts Zendesk: its JSON export, or saved answers of its API. Files are those that were saved in `attachments`. */
import { RATING_SCORES } from '../../base/db/schema'
import { noLosses } from '../import/fitting'
import { bodiesOf, Groups, keyed, Labels, leaveNoPlace, timesOf } from './foreign-rows'
import {
  customOf,
  emailOf,
  fieldsOf,
  firstOf,
  idOf,
  linesOf,
  listOf,
  messageIdsOf,
  nameOf,
  objectsOf,
  subjectOf,
  textOf,
} from './foreign-values'
import { type Foreign, itemsOf } from './read-json'
import type { Source } from './source'
import type { OutFolder } from './write-folder'

const KEY = keyed('zendesk')

const STATUSES: Record<string, string> = {
  ...{ new: 'open', open: 'open', hold: 'open', pending: 'pending', solved: 'resolved', closed: 'closed' },
}
const PEOPLE = ['organizations', 'users', 'groups', 'group_memberships']
const PRIORITIES = ['low', 'normal', 'high', 'urgent']

type Person = { name: string; email: string | undefined; is_agent: boolean }
/** The customers of a ticket, by which authors who are gone are told apart. */
type Ticket = { customers: Set<string>; has_comments: boolean }
type Known = { people: Map<string, Person>; groups: Groups; tickets: Map<string, Ticket>; labels: Labels }

export async function convertZendesk(source: Source, out: OutFolder): Promise<void> {
  const known: Known = { people: new Map(), groups: new Groups(KEY), tickets: new Map(), labels: new Labels(KEY, out) }
  const memberships: Foreign[] = []
  const seen = new Set<string>()
  const isNew = (kind: string, id: unknown) => !seen.has(`${kind} ${id}`) && seen.add(`${kind} ${id}`)
  for await (const { kind, item } of itemsOf(source, PEOPLE)) {
    if (!isNew(kind, item.id)) continue
    if (kind === 'users') writePerson(item, known, out)
    else if (kind === 'group_memberships') memberships.push(item)
    else if (kind === 'groups') known.groups.note(item.id, item.name)
    else writeCompany(item, out)
  }
  for (const { user_id, group_id } of memberships) {
    const { email, is_agent } = known.people.get(textOf(user_id)) ?? {}
    if (is_agent) known.groups.add(group_id, email)
  }
  known.groups.write(out)
  for await (const { item } of itemsOf(source, ['tickets'])) {
    if (isNew('tickets', item.id)) writeTicket(item, known, out)
  }
  for await (const { kind, item, number } of itemsOf(source, ['tickets', 'comments'])) {
    const ticket_id = kind === 'tickets' ? textOf(item.id) : firstOf(item.ticket_id, number)
    const ticket = known.tickets.get(ticket_id)
    for (const comment of kind === 'tickets' ? objectsOf(item.comments) : [item]) {
      if (idOf(comment.id) === undefined) out.leaveOut('messages', null, 'has no id')
      else if (!isNew('comments', comment.id)) continue
      else if (!ticket) out.leaveOut('messages', KEY(comment.id), 'its ticket is not brought')
      else await writeComment(comment, ticket_id, ticket, { known, source, out })
    }
  }
  for await (const { item } of itemsOf(source, ['tickets'])) writeDescription(item, known, out)
}

function writeCompany(organization: Foreign, out: OutFolder): void {
  const { id, name, domain_names, details, notes, tags, organization_fields } = organization
  const losses = noLosses()
  const custom = customOf({ ...fieldsOf(organization_fields), tags }, losses)
  out.write(
    'companies',
    {
      ...{ external_id: KEY(id), name: nameOf(textOf(name)), domains: listOf(domain_names) },
      ...{ notes: linesOf(details, notes), custom, ...timesOf(organization) },
    },
    losses,
  )
}

function writePerson(user: Foreign, { people }: Known, out: OutFolder): void {
  const { id, role, organization_id, phone, alias, suspended, tags, details, notes } = user
  const email = emailOf(user.email)
  const name = nameOf(textOf(user.name), email)
  const is_agent = ['agent', 'admin'].includes(textOf(role))
  people.set(textOf(id), { name, email, is_agent })
  const external_id = KEY(id)
  if (!email) {
    for (const file of is_agent ? ['users', 'contacts'] : ['contacts']) {
      out.leaveOut(file, external_id, 'has no usable address')
    }
    return
  }
  if (is_agent) out.write('users', { external_id, name, email, role })
  const losses = noLosses()
  const custom = customOf({ ...fieldsOf(user.user_fields), alias, tags, suspended: suspended || null }, losses)
  const company_id = idOf(organization_id) && KEY(organization_id)
  out.write(
    'contacts',
    {
      ...{ external_id, name, email, phone: textOf(phone), notes: linesOf(details, notes), company_id, custom },
      ...timesOf(user),
    },
    losses,
  )
}

function writeTicket(ticket: Foreign, { people, groups, tickets, labels }: Known, out: OutFolder): void {
  const [id, status] = [textOf(ticket.id), textOf(ticket.status)]
  if (status === 'deleted') return void out.leaveOut('tickets', KEY(id), 'was deleted')
  const losses = noLosses()
  if (!STATUSES[status]) losses.left_out.push({ path: '/status', message: `"${status}" is unknown, and became open` })
  // Followers get blind copies.
  const followers = new Set(listOf(ticket.follower_ids).map(textOf))
  const in_copy = listOf(ticket.email_cc_ids ?? ticket.collaborator_ids).map(textOf)
  const copied = in_copy.filter((one) => !followers.has(one))
  tickets.set(id, { customers: new Set([textOf(ticket.requester_id), ...in_copy]), has_comments: false })
  for (const _ of followers) losses.left_out.push({ path: '/followers', message: 'gets blind copies' })
  const assignee = idOf(ticket.assignee_id)
  if (assignee && !people.get(assignee)?.is_agent) {
    losses.left_out.push({ path: '/assignee_id', message: 'is no agent of the source' })
  }
  const fields = objectsOf(ticket.custom_fields ?? ticket.fields).map(({ id, value }) => [`field_${textOf(id)}`, value])
  const { type, due_at, satisfaction_rating } = ticket
  const team = groups.keyOf(ticket.group_id)
  const group = team ? undefined : ticket.group_id
  const other_id = ticket.external_id
  leaveNoPlace(ticket, ['problem_id', 'followup_ids', 'sharing_agreement_ids'], losses)
  out.write(
    'tickets',
    {
      ...{ external_id: KEY(id), code: id, subject: subjectOf(firstOf(ticket.subject, ticket.raw_subject)) },
      ...{
        status: STATUSES[status] ?? 'open',
        priority: PRIORITIES.find((one) => one === ticket.priority) ?? 'normal',
      },
      contact_id: people.get(textOf(ticket.requester_id))?.email ? KEY(ticket.requester_id) : null,
      assignee_id: assignee && people.get(assignee)?.is_agent ? KEY(assignee) : undefined,
      company_id: idOf(ticket.organization_id) && KEY(ticket.organization_id),
      ...{ team, label_ids: labels.keysOf(listOf(ticket.tags)) },
      custom: customOf({ ...Object.fromEntries(fields), type, due_at, group, external_id: other_id }, losses),
      rating: ratingOf(fieldsOf(satisfaction_rating)),
      ...timesOf(ticket),
    },
    losses,
  )
  for (const one of copied) {
    const person = people.get(one)
    const external_id = `${KEY(id)}:${one}`
    if (!person?.email) out.leaveOut('participants', external_id, 'has no usable address')
    else if (person.is_agent) out.leaveOut('participants', external_id, 'is an agent')
    else {
      const { name, email } = person
      out.write('participants', { external_id, ticket_id: KEY(id), name, email, confirmed: true })
    }
  }
}

/** Other scores say that nobody was asked, or nobody answered. */
function ratingOf({ score, comment }: Foreign) {
  const found = RATING_SCORES.find((one) => textOf(score).startsWith(one))
  return found && { score: found, comment: textOf(comment) || null }
}

type Way = { known: Known; source: Source; out: OutFolder }

async function writeComment(comment: Foreign, ticket_id: string, ticket: Ticket, { known, source, out }: Way) {
  ticket.has_comments = true
  const author = known.people.get(textOf(comment.author_id))
  const via = fieldsOf(fieldsOf(comment.via).source)
  const [from, to] = [fieldsOf(via.from), fieldsOf(via.to)]
  const email = author?.email ?? emailOf(from.address)
  const is_customer = author ? !author.is_agent : ticket.customers.has(textOf(comment.author_id))
  const losses = noLosses()
  const files = objectsOf(comment.attachments).map(({ id, file_name, content_type, content_url }) => ({
    shown_at: textOf(content_url),
    places: [`attachments/${textOf(id)}/${textOf(file_name)}`, `attachments/${textOf(id)}`],
    ...{ id: textOf(id), filename: textOf(file_name), content_type: textOf(content_type) || undefined },
  }))
  const attachments = await source.attach(files, out, losses)
  const html = source.show(textOf(comment.html_body), (address) => address)
  const copied = listOf(to.email_ccs).map((one) => known.people.get(textOf(one))?.email ?? emailOf(one))
  out.write(
    'messages',
    {
      ...{ external_id: KEY(comment.id), ticket_id: KEY(ticket_id) },
      ...(comment.public === false ? { is_internal: true } : { direction: is_customer ? 'inbound' : 'outbound' }),
      sender: { name: author?.name ?? nameOf(textOf(from.name), email), email: email ?? null },
      ...bodiesOf(html, firstOf(comment.plain_body, comment.body)),
      cc: copied.filter(Boolean),
      email_message_id: messageIdsOf(textOf(fieldsOf(fieldsOf(comment.metadata).system).message_id))[0],
      ...{ attachments, created_at: timesOf(comment).created_at },
    },
    losses,
  )
}

/** The first comment is the description, unless the source has no comments of a ticket. */
function writeDescription(ticket: Foreign, { people, tickets }: Known, out: OutFolder): void {
  const [id, body] = [textOf(ticket.id), textOf(ticket.description)]
  const known = tickets.get(id)
  if (!known || known.has_comments || body.trim() === '') return
  known.has_comments = true
  const { name = 'Unknown', email = null } = people.get(textOf(ticket.requester_id)) ?? {}
  const { created_at } = timesOf(ticket)
  out.write('messages', {
    ...{ external_id: `${KEY(id)}:description`, ticket_id: KEY(id), direction: 'inbound', created_at },
    ...{ sender: { name, email }, ...bodiesOf('', body) },
  })
}
