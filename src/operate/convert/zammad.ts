/** Converts Zammad: a dump of its database, with files in it or in `storage/fs`. */
import { type Losses, noLosses } from '../import/fitting'
import type { Value } from './dump-values'
import { bodiesOf, Groups, keyed, Labels } from './foreign-rows'
import {
  addTo,
  customOf,
  emailOf,
  emailsOf,
  firstOf,
  idOf,
  messageIdsOf,
  minutesOf,
  nameOf,
  subjectOf,
  takeFrom,
  textOf,
  timeOf,
} from './foreign-values'
import type { Source, SourceFile } from './source'
import type { OutFolder } from './write-folder'
import { minutesIn, type Setting, settingIn } from './zammad-settings'

const KEY = keyed('zammad')
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
type Field = { name: string; has_choices: boolean }
type Person = { name: string; email: string | undefined; is_agent: boolean }

class Known {
  readonly settings: Setting = new Map()
  readonly roles = new Map<string, string>()
  readonly roles_of = new Map<string, string[]>()
  readonly people = new Map<string, Person>()
  readonly names = new Map<string, string>()
  readonly state_types = new Map<string, string>()
  /** Fields of the organization's own, by what has them. */
  readonly fields = new Map<string, Field[]>()
  readonly tags = new Map<string, string[]>()
  readonly groups = new Groups(KEY)
  readonly members = new Map<string, string[]>()
  readonly tickets = new Set<string>()
  readonly stored = new Map<string, Row[]>()
}

const LOOKUPS = [
  ...['roles', 'roles_users', 'ticket_state_types', 'ticket_states', 'ticket_priorities', 'groups', 'settings'],
  'groups_users',
  ...['ticket_article_senders', 'tag_items', 'tag_objects', 'store_objects', 'store_files', 'object_lookups'],
  ...['object_manager_attributes', 'ticket_time_accounting_types'],
]

export async function convertZammad(source: Source, out: OutFolder): Promise<void> {
  const known = new Known()
  for await (const { table, row } of source.rows(LOOKUPS)) note(table, row, known)
  for await (const { row } of source.rows(['organizations'])) writeCompany(row, known, out)
  for await (const { row } of source.rows(['users'])) writePerson(row, known, out)
  for (const [group, people] of known.members) {
    for (const { email, is_agent } of people.flatMap((id) => known.people.get(id) ?? [])) {
      if (is_agent) known.groups.add(group, email)
    }
  }
  known.groups.write(out)
  for await (const { table, row } of source.rows(['tags', 'stores'])) noteOfObject(table, row, known)
  const labels = new Labels(KEY, out)
  for await (const { row } of source.rows(['tickets'])) writeTicket(row, known, labels, out)
  const in_database = await copyFromDatabase(source, known, out)
  for await (const { table, row } of source.rows(['ticket_articles', 'ticket_time_accountings'])) {
    const file = table === 'ticket_articles' ? 'messages' : 'time_entries'
    const stored = file === 'messages' ? takeFrom(known.stored, textOf(row.id)) : []
    if (!known.tickets.has(textOf(row.ticket_id))) out.leaveOut(file, KEY(row.id), 'its ticket is not brought')
    else if (file === 'messages') {
      const files = stored.map((one) => fileOf(one, known, in_database))
      await writeArticle(row, known, files, source, out)
    } else writeTime(row, known, out)
  }
  out.leaveFiles([...known.stored.values()].flat().map(({ id }) => KEY(id)))
}

function note(table: string, row: Row, known: Known): void {
  const [id, name] = [textOf(row.id), textOf(row.name)]
  if (table === 'settings') known.settings.set(name, settingIn(firstOf(row.state_current, row.state)))
  else if (table === 'groups') known.groups.note(id, name)
  else if (table === 'groups_users') addTo(known.members, textOf(row.group_id), textOf(row.user_id))
  else if (table === 'roles') known.roles.set(id, name)
  else if (table === 'roles_users') addTo(known.roles_of, textOf(row.user_id), textOf(row.role_id))
  else if (table === 'ticket_states') known.state_types.set(id, textOf(row.state_type_id))
  else if (table === 'store_files') known.names.set(`store_files ${id}`, `${textOf(row.provider)} ${textOf(row.sha)}`)
  else if (table === 'object_manager_attributes') {
    const has_choices = /^multi_?(?:tree_)?select$/.test(textOf(row.data_type))
    if (isTrue(row.editable)) addTo(known.fields, textOf(row.object_lookup_id), { name, has_choices })
  } else known.names.set(`${table} ${id}`, name)
}

function isTrue(value: Value | undefined): boolean {
  return /^(?:t|1|true)$/.test(textOf(value))
}

/** Fields of the organization's own, and others that have no place of their own. */
function customIn(row: Row, of: string, known: Known, losses: Losses, others: Record<string, unknown>) {
  const own = [...known.fields].flatMap(([lookup, fields]) => {
    return known.names.get(`object_lookups ${lookup}`) === of ? fields : []
  })
  const values = own.map(({ name, has_choices }) => {
    const text = textOf(row[name])
    return [name, has_choices ? choicesIn(text) : text]
  })
  return customOf({ ...Object.fromEntries(values), ...others }, losses)
}

/** A value of several choices is an array of the database, `{a,"b c"}`, or JSON. */
function choicesIn(text: string): string | string[] {
  const is_array = /^\{[^:]*\}$/.test(text)
  if (!is_array && !/^\[.*\]$/s.test(text)) return text
  const inner = text.slice(1, -1)
  const items = inner.match(/"(?:[^"\\]|\\.)*"|[^,"]+/gs) ?? []
  return items
    .map((item) => item.trim().replace(/^"|"$/g, '').replace(/\\(.)/g, '$1'))
    .filter((item) => item !== 'NULL')
}

function noteOfObject(table: string, row: Row, known: Known): void {
  const object = textOf(row.o_id)
  if (table === 'tags') {
    const name = known.names.get(`tag_items ${textOf(row.tag_item_id)}`)
    if (name && known.names.get(`tag_objects ${textOf(row.tag_object_id)}`) === 'Ticket')
      addTo(known.tags, object, name)
  } else if (known.names.get(`store_objects ${textOf(row.store_object_id)}`) === 'Ticket::Article') {
    addTo(known.stored, object, row)
  }
}

function writeCompany(row: Row, known: Known, out: OutFolder): void {
  const losses = noLosses()
  const domains = textOf(row.domain)
    .split(/[\s,]+/)
    .filter(Boolean)
  const custom = customIn(row, 'Organization', known, losses, {})
  const [name, notes] = [nameOf(textOf(row.name)), textOf(row.note)]
  out.write('companies', { external_id: KEY(row.id), name, domains, notes, custom }, losses)
}

function writePerson(row: Row, known: Known, out: OutFolder): void {
  const id = textOf(row.id)
  const email = emailOf(textOf(row.email))
  const name = nameOf(`${textOf(row.firstname)} ${textOf(row.lastname)}`, email)
  const roles = (known.roles_of.get(id) ?? []).map((role) => known.roles.get(role) ?? '')
  const is_agent = roles.some((role) => /^(agent|admin)$/i.test(role))
  known.people.set(id, { name, email, is_agent })
  if (id === NOBODY) return
  if (!email) {
    for (const file of is_agent ? ['users', 'contacts'] : ['contacts']) {
      out.leaveOut(file, KEY(id), 'has no usable address')
    }
    return
  }
  if (is_agent) {
    out.write('users', { external_id: KEY(id), name, email, role: roles.includes('Admin') ? 'admin' : 'agent' })
  }
  const losses = noLosses()
  const company_id = idOf(row.organization_id)
  const phone = firstOf(row.phone, row.mobile)
  const mobile = textOf(row.mobile) === phone ? '' : textOf(row.mobile)
  const { web, fax, department, street, zip, city, country, address } = row
  const place = Object.entries({ web, fax, department, street, zip, city, country, address })
  const others = { mobile, ...Object.fromEntries(place.map(([field, value]) => [field, textOf(value)])) }
  out.write(
    'contacts',
    {
      ...{ external_id: KEY(id), name, email, phone, notes: textOf(row.note) },
      ...{ company_id: company_id && KEY(company_id), custom: customIn(row, 'User', known, losses, others) },
      ...{ created_at: timeOf(row.created_at), updated_at: timeOf(row.updated_at) },
    },
    losses,
  )
}

function writeTicket(row: Row, known: Known, labels: Labels, out: OutFolder): void {
  const id = textOf(row.id)
  const type = known.names.get(`ticket_state_types ${known.state_types.get(textOf(row.state_id)) ?? ''}`) ?? ''
  if (type === 'merged' || type === 'removed') return void out.leaveOut('tickets', KEY(id), `was ${type}`)
  known.tickets.add(id)
  const losses = noLosses()
  const status = STATES[type]
  if (!status) losses.left_out.push({ path: '/status', message: `"${type}" is unknown, and became open` })
  const priority = known.names.get(`ticket_priorities ${textOf(row.priority_id)}`) ?? ''
  const [owner, customer] = [textOf(row.owner_id), textOf(row.customer_id)]
  const has_owner = owner !== NOBODY && owner !== ''
  const { is_agent, email } = known.people.get(owner) ?? {}
  const is_assigned = has_owner && is_agent && email
  if (has_owner && !is_assigned) losses.left_out.push({ path: '/assignee_id', message: 'is no agent of the source' })
  const company_id = idOf(row.organization_id)
  const others = { pending_until: timeOf(row.pending_time), note: textOf(row.note), type: textOf(row.type) }
  out.write(
    'tickets',
    {
      contact_id: known.people.get(customer)?.email && customer !== NOBODY ? KEY(customer) : null,
      ...{ external_id: KEY(id), code: textOf(row.number), subject: subjectOf(textOf(row.title)) },
      ...{ status: status ?? 'open', priority: PRIORITIES.find(([word]) => word.test(priority))?.[1] ?? 'normal' },
      ...{ assignee_id: is_assigned ? KEY(owner) : undefined, team: known.groups.keyOf(row.group_id) },
      company_id: company_id && KEY(company_id),
      label_ids: labels.keysOf(known.tags.get(id) ?? []),
      custom: customIn(row, 'Ticket', known, losses, others),
      ...{ created_at: timeOf(row.created_at), updated_at: timeOf(row.updated_at) },
    },
    losses,
  )
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

async function writeArticle(row: Row, known: Known, files: SourceFile[], source: Source, out: OutFolder) {
  const id = textOf(row.id)
  const sender = known.names.get(`ticket_article_senders ${textOf(row.sender_id)}`)
  const body = textOf(row.body)
  const is_html = textOf(row.content_type).includes('html')
  const from = textOf(row.from)
  const person = known.people.get(idOf(row.origin_by_id) ?? textOf(row.created_by_id))
  const email = emailsOf(from)[0] ?? person?.email
  const written = nameOf(from.split('<')[0]!.replaceAll('"', ''), email)
  const losses = noLosses()
  out.write(
    'messages',
    {
      ...{ external_id: KEY(id), ticket_id: KEY(row.ticket_id) },
      ...(isTrue(row.internal) ? { is_internal: true } : { direction: sender === 'Customer' ? 'inbound' : 'outbound' }),
      ...bodiesOf(is_html ? body : '', is_html ? '' : body),
      sender: { name: from ? written : (person?.name ?? 'Unknown'), email: email ?? null },
      cc: emailsOf(textOf(row.cc)),
      email_message_id: messageIdsOf(textOf(row.message_id))[0],
      references: [...messageIdsOf(textOf(row.references)), ...messageIdsOf(textOf(row.in_reply_to))],
      attachments: await source.attach(files, out, losses),
      created_at: timeOf(row.created_at),
    },
    losses,
  )
}

function fileOf(row: Row, known: Known, in_database: Set<string>) {
  const [provider, sha = ''] = (known.names.get(`store_files ${textOf(row.store_file_id)}`) ?? '').split(' ')
  // Files of the provider File are in folders of the parts of their hash.
  const ends = [4, 9, 16, 23, 30]
  const parts = [...ends.map((end, at) => sha.slice(ends[at - 1] ?? 0, end)), sha.slice(30)].join('/')
  const preferences = textOf(row.preferences)
  return {
    places: [`storage/fs/${parts}`, `fs/${parts}`, `storage/fs/${sha}`, sha],
    id: sha,
    url: provider === 'DB' && in_database.has(sha) ? `files/${sha}` : undefined,
    filename: textOf(row.filename),
    content_type: /(?:Content-Type|Mime-Type):\s*["']?([\w.+-]+\/[\w.+-]+)/i.exec(preferences)?.[1],
    content_id: /Content-ID:\s*["']?<?([^\s<>"']+)/i.exec(preferences)?.[1],
  }
}

function writeTime(row: Row, known: Known, out: OutFolder): void {
  const minutes = minutesIn(known.settings)
  if (typeof minutes === 'string') return void out.leaveOut('time_entries', KEY(row.id), minutes)
  const losses = noLosses()
  const duration_minutes = minutesOf(Number(textOf(row.time_unit)) * minutes, losses)
  if (!duration_minutes) return void out.leaveOut('time_entries', KEY(row.id), 'is no time')
  const [user_id, person] = [KEY(row.created_by_id), known.people.get(textOf(row.created_by_id))]
  out.keepMember(user_id, person)
  const created_at = timeOf(row.created_at)
  const description = known.names.get(`ticket_time_accounting_types ${textOf(row.type_id)}`)
  out.write(
    'time_entries',
    {
      ...{ external_id: KEY(row.id), ticket_id: KEY(row.ticket_id), user_id, user_name: person?.name },
      ...{ duration_minutes, description, created_at, date: created_at?.slice(0, 10) },
    },
    losses,
  )
}
