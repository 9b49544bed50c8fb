/** Converts Zammad: a dump of its database, with files in it or in `storage/fs`. */

import type { Value } from './dump-values'
import {
  cut,
  emailOf,
  emailsOf,
  given,
  idOf,
  messageIdsOf,
  minutesOf,
  nameOf,
  subjectOf,
  textOf,
  timeOf,
} from './foreign-values'
import type { Source } from './source'
import type { OutFolder } from './write-folder'

const KEY = (id: string) => `zammad:${id}`
/** The user who stands for nobody. */
const NOBODY = '1'

/** Types of states; merged and removed tickets are left out. */
const STATES: Record<string, string> = {
  ...{ new: 'open', open: 'open', closed: 'closed' },
  ...{ 'pending reminder': 'pending', 'pending action': 'pending', pending: 'pending' },
}
const PRIORITIES: [RegExp, string][] = [
  [/low/i, 'low'],
  [/high/i, 'high'],
  [/urgent/i, 'urgent'],
]

type Row = Record<string, Value>
type Person = { name: string; email: string | undefined; is_agent: boolean }

class Known {
  readonly roles = new Map<string, string>()
  readonly roles_of = new Map<string, string[]>()
  readonly people = new Map<string, Person>()
  readonly names = new Map<string, string>()
  readonly state_types = new Map<string, string>()
  readonly tags = new Map<string, string[]>()
  readonly tickets = new Set<string>()
  readonly stored = new Map<string, Row[]>()
}

const LOOKUPS = [
  ...['roles', 'roles_users', 'organizations', 'ticket_state_types', 'ticket_states', 'ticket_priorities'],
  ...['ticket_article_senders', 'tag_items', 'tag_objects', 'store_objects', 'store_files'],
]

export async function convertZammad(source: Source, out: OutFolder): Promise<void> {
  const known = new Known()
  for await (const { table, row } of source.rows(LOOKUPS)) note(table, row, known, out)
  for await (const { row } of source.rows(['users'])) writePerson(row, known, out)
  for await (const { table, row } of source.rows(['tags', 'stores'])) noteOfObject(table, row, known)
  for (const tag of new Set([...known.tags.values()].flat())) {
    out.write('labels', { external_id: KEY(tag), name: cut(tag, 64) })
  }
  for await (const { row } of source.rows(['tickets'])) writeTicket(row, known, out)
  const in_database = await copyFromDatabase(source, known, out)
  for await (const { table, row } of source.rows(['ticket_articles', 'ticket_time_accountings'])) {
    if (!known.tickets.has(textOf(row.ticket_id))) continue
    if (table === 'ticket_articles') await writeArticle(row, known, in_database, source, out)
    else writeTime(row, out)
  }
}

function note(table: string, row: Row, known: Known, out: OutFolder): void {
  const [id, name] = [textOf(row.id), textOf(row.name)]
  if (table === 'organizations') {
    const domains = textOf(row.domain)
      .split(/[\s,]+/)
      .filter(Boolean)
    const notes = cut(textOf(row.note), 10_000)
    out.write('companies', given({ external_id: KEY(id), name: nameOf(name), domains, notes }))
  } else if (table === 'roles') known.roles.set(id, name)
  else if (table === 'roles_users') {
    const user = textOf(row.user_id)
    known.roles_of.set(user, [...(known.roles_of.get(user) ?? []), textOf(row.role_id)])
  } else if (table === 'ticket_states') known.state_types.set(id, textOf(row.state_type_id))
  else if (table === 'store_files') known.names.set(`store_files ${id}`, `${textOf(row.provider)} ${textOf(row.sha)}`)
  else known.names.set(`${table} ${id}`, name)
}

function noteOfObject(table: string, row: Row, known: Known): void {
  const object = textOf(row.o_id)
  if (table === 'tags') {
    const name = known.names.get(`tag_items ${textOf(row.tag_item_id)}`)
    if (!name || known.names.get(`tag_objects ${textOf(row.tag_object_id)}`) !== 'Ticket') return
    known.tags.set(object, [...(known.tags.get(object) ?? []), name])
  } else if (known.names.get(`store_objects ${textOf(row.store_object_id)}`) === 'Ticket::Article') {
    known.stored.set(object, [...(known.stored.get(object) ?? []), row])
  }
}

function writePerson(row: Row, known: Known, out: OutFolder): void {
  const id = textOf(row.id)
  const email = emailOf(textOf(row.email))
  const name = nameOf(`${textOf(row.firstname)} ${textOf(row.lastname)}`, email)
  const roles = (known.roles_of.get(id) ?? []).map((role) => known.roles.get(role) ?? '')
  const is_agent = roles.some((role) => /^(agent|admin)$/i.test(role))
  known.people.set(id, { name, email, is_agent })
  if (!email || id === NOBODY) return
  if (is_agent) {
    out.write('users', { external_id: KEY(id), name, email, role: roles.includes('Admin') ? 'admin' : 'agent' })
  }
  const company_id = idOf(row.organization_id)
  const phone = cut(textOf(row.phone) || textOf(row.mobile), 64)
  const notes = cut(textOf(row.note), 10_000)
  const times = { created_at: timeOf(row.created_at), updated_at: timeOf(row.updated_at) }
  out.write(
    'contacts',
    given({ external_id: KEY(id), name, email, phone, notes, company_id: company_id && KEY(company_id), ...times }),
  )
}

function writeTicket(row: Row, known: Known, out: OutFolder): void {
  const id = textOf(row.id)
  const state = known.state_types.get(textOf(row.state_id)) ?? ''
  const status = STATES[known.names.get(`ticket_state_types ${state}`) ?? '']
  if (!status) return
  known.tickets.add(id)
  const priority = known.names.get(`ticket_priorities ${textOf(row.priority_id)}`) ?? ''
  const [owner, customer] = [textOf(row.owner_id), textOf(row.customer_id)]
  const company_id = idOf(row.organization_id)
  out.write('tickets', {
    contact_id: known.people.get(customer)?.email && customer !== NOBODY ? KEY(customer) : null,
    ...given({
      ...{ external_id: KEY(id), code: textOf(row.number), subject: subjectOf(textOf(row.title)), status },
      priority: PRIORITIES.find(([word]) => word.test(priority))?.[1] ?? 'normal',
      assignee_id: owner !== NOBODY && known.people.get(owner)?.is_agent ? KEY(owner) : undefined,
      company_id: company_id && KEY(company_id),
      label_ids: known.tags.get(id)?.map(KEY),
      ...{ created_at: timeOf(row.created_at), updated_at: timeOf(row.updated_at) },
    }),
  })
}

/** Copies files that are in the database. @returns their hashes */
async function copyFromDatabase(source: Source, known: Known, out: OutFolder): Promise<Set<string>> {
  const copied = new Set<string>()
  if (known.stored.size === 0) return copied
  for await (const { row } of source.rows(['store_provider_dbs'])) {
    const sha = textOf(row.sha)
    if (!/^[0-9a-f]{16,128}$/.test(sha) || !row.data) continue
    await out.copy(sha, row.data)
    copied.add(sha)
  }
  return copied
}

async function writeArticle(row: Row, known: Known, in_database: Set<string>, source: Source, out: OutFolder) {
  const id = textOf(row.id)
  const sender = known.names.get(`ticket_article_senders ${textOf(row.sender_id)}`)
  const is_internal = textOf(row.internal) === 't' || textOf(row.internal) === '1' || textOf(row.internal) === 'true'
  const body = textOf(row.body)
  const is_html = textOf(row.content_type).includes('html')
  const from = textOf(row.from)
  const person = known.people.get(idOf(row.origin_by_id) ?? textOf(row.created_by_id))
  const email = emailsOf(from)[0] ?? person?.email
  const written = nameOf(from.replace(/<[^>]*>/g, '').replaceAll('"', ''), email)
  const attachments = []
  for (const stored of known.stored.get(id) ?? []) {
    const file = await fileOf(stored, known, in_database, source, out)
    if (file) attachments.push(file)
  }
  out.write(
    'messages',
    given({
      ...{ external_id: KEY(id), ticket_id: KEY(textOf(row.ticket_id)) },
      ...(is_internal ? { is_internal } : { direction: sender === 'Customer' ? 'inbound' : 'outbound' }),
      ...(is_html ? { body_html: body } : { body }),
      sender: { name: from ? written : (person?.name ?? 'Unknown'), email: email ?? null },
      cc: emailsOf(textOf(row.cc)),
      email_message_id: messageIdsOf(textOf(row.message_id))[0],
      references: [...messageIdsOf(textOf(row.references)), ...messageIdsOf(textOf(row.in_reply_to))],
      attachments,
      created_at: timeOf(row.created_at),
    }),
  )
}

async function fileOf(row: Row, known: Known, in_database: Set<string>, source: Source, out: OutFolder) {
  const [provider, sha = ''] = (known.names.get(`store_files ${textOf(row.store_file_id)}`) ?? '').split(' ')
  // Files of the provider File are in folders of the parts of their hash.
  const parts = [
    ...[4, 5, 7, 7, 7].reduce(
      (all, size) => ({ at: all.at + size, list: [...all.list, sha.slice(all.at, all.at + size)] }),
      { at: 0, list: [] as string[] },
    ).list,
    sha.slice(30),
  ]
  const places = [`storage/fs/${parts.join('/')}`, `fs/${parts.join('/')}`, `storage/fs/${sha}`, sha]
  const url = provider === 'DB' && in_database.has(sha) ? `files/${sha}` : await source.copyFile(places, sha, out)
  if (!url) return undefined
  const preferences = textOf(row.preferences)
  const content_type = /(?:Content-Type|Mime-Type):\s*["']?([\w.+-]+\/[\w.+-]+)/i.exec(preferences)?.[1]
  const content_id = /Content-ID:\s*["']?<?([^\s<>"']+)/i.exec(preferences)?.[1]
  return given({ url, filename: textOf(row.filename) || 'file', content_type, content_id })
}

function writeTime(row: Row, out: OutFolder): void {
  const duration_minutes = minutesOf(Number(textOf(row.time_unit)))
  if (!duration_minutes) return
  const created_at = timeOf(row.created_at)
  out.write(
    'time_entries',
    given({
      ...{ external_id: KEY(textOf(row.id)), ticket_id: KEY(textOf(row.ticket_id)), duration_minutes, created_at },
      ...{ user_id: KEY(textOf(row.created_by_id)), date: created_at?.slice(0, 10) },
    }),
  )
}
