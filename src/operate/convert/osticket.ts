/** Converts osTicket: a dump of its database, which has the files too, in pieces. */
import fs from 'node:fs'
import { escapeHtml } from '../../base/html/text'
import { type Losses, noLosses } from '../import/fitting'
import type { Value } from './dump-values'
import { bodiesOf, keyed } from './foreign-rows'
import {
  addTo,
  customOf,
  emailOf,
  firstOf,
  idOf,
  messageIdsOf,
  nameOf,
  referencesIn,
  subjectOf,
  takeFrom,
  textOf,
  timeOf,
} from './foreign-values'
import type { Source } from './source'
import type { OutFolder } from './write-folder'

const KEY = keyed('osticket')
const PREFIX = 'ost_'

/** Entries: M message, R response, N note. */
const TYPES: Record<string, object> = {
  M: { direction: 'inbound' },
  R: { direction: 'outbound' },
  N: { is_internal: true },
}
/** Entries with this flag are hidden: an edited one stands beside them. */
const HIDDEN = 4
/** A collaborator with both flags gets copies. One without the second gets blind ones. */
const [ACTIVE, IN_COPY] = [1, 2]
const STATES: Record<string, string> = { open: 'open', closed: 'closed', archived: 'closed' }
const PRIORITIES = ['low', 'normal', 'high', 'urgent']

type Row = Record<string, Value>
type Person = { name: string; email: string | undefined }

/** The rows that are read before tickets and entries. */
class Known {
  readonly emails = new Map<string, string[]>()
  readonly staff = new Map<string, Person>()
  readonly users = new Map<string, Person>()
  /** States of statuses, and the names of departments, topics and teams, by table and id. */
  readonly names = new Map<string, string>()
  /** Fields of tickets, users and organizations that are in forms, by table and id. */
  readonly details = new Map<string, Row>()
  readonly message_ids = new Map<string, { mid: string; headers: string }>()
  readonly tickets = new Map<string, string>()
  readonly threads = new Map<string, string>()
  readonly files = new Map<string, { name: string; type: string; key: string }>()
  readonly attached = new Map<string, { file_id: string; name: string }[]>()
}

/** @param zone of the server */
export async function convertOsticket(source: Source, out: OutFolder, zone = 'UTC'): Promise<void> {
  const known = new Known()
  for await (const { table, row } of source.rows(LOOKUPS, PREFIX)) note(table, row, known)
  for await (const { table, row } of source.rows(['staff', 'organization'], PREFIX)) {
    if (table === 'staff') writeStaff(row, known, out)
    else writeCompany(row, known, out)
  }
  for await (const { row } of source.rows(['user'], PREFIX)) writeUser(row, known, out, zone)
  for await (const { row } of source.rows(['ticket'], PREFIX)) writeTicket(row, known, out, zone)
  for await (const { row } of source.rows(['thread'], PREFIX)) {
    const ticket = textOf(row.object_id)
    if (textOf(row.object_type) === 'T' && known.tickets.has(ticket)) known.threads.set(textOf(row.id), ticket)
  }
  await writeFiles(source, known, out)
  for await (const { table, row } of source.rows(['thread_entry', 'thread_collaborator'], PREFIX)) {
    const ticket = known.threads.get(textOf(row.thread_id))
    if (table === 'thread_entry') await writeEntry(row, ticket, { known, source, out, zone })
    else writeCollaborator(row, ticket, known, out)
  }
  out.leaveFiles([...known.attached.values()].flat().map(({ file_id }) => KEY(file_id)))
}

const LOOKUPS = [
  ...['user_email', 'ticket_status', 'department', 'help_topic', 'team', 'ticket__cdata', 'user__cdata'],
  ...['organization__cdata', 'thread_entry_email', 'file', 'attachment'],
]

function note(table: string, row: Row, known: Known): void {
  const id = textOf(row.id)
  if (table === 'user_email') addTo(known.emails, textOf(row.user_id), textOf(row.address))
  else if (table === 'ticket_status') known.names.set(`ticket_status ${id}`, textOf(row.state))
  else if (table.endsWith('__cdata')) {
    const [of] = table.split('__')
    known.details.set(`${of} ${firstOf(row.ticket_id, row.user_id, row.org_id)}`, row)
  } else if (table === 'thread_entry_email') {
    known.message_ids.set(textOf(row.thread_entry_id), { mid: textOf(row.mid), headers: textOf(row.headers) })
  } else if (table === 'file') {
    known.files.set(id, { name: textOf(row.name), type: textOf(row.type), key: textOf(row.key) })
  } else if (table === 'attachment') {
    if (textOf(row.type) !== 'H') return
    addTo(known.attached, textOf(row.object_id), { file_id: textOf(row.file_id), name: textOf(row.name) })
  } else {
    known.names.set(`${table} ${firstOf(row.id, row.topic_id, row.team_id)}`, firstOf(row.name, row.topic))
  }
}

/** Fields of forms that have no place of their own. */
function customIn(details: Row, own: string[], losses: Losses, others: Record<string, unknown> = {}) {
  const fields = Object.entries(details).filter(([name]) => !own.includes(name))
  return customOf({ ...Object.fromEntries(fields.map(([name, value]) => [name, textOf(value)])), ...others }, losses)
}

function writeCompany(row: Row, known: Known, out: OutFolder): void {
  const id = textOf(row.id)
  const details = known.details.get(`organization ${id}`) ?? {}
  const losses = noLosses()
  const domains = textOf(row.domain)
    .split(/[\s,]+/)
    .filter(Boolean)
  const custom = customIn(details, ['org_id', 'name', 'notes'], losses)
  const fields = { external_id: KEY(id), name: nameOf(textOf(row.name)), domains, notes: textOf(details.notes), custom }
  out.write('companies', fields, losses)
}

function writeStaff(row: Row, known: Known, out: OutFolder): void {
  const [id, email] = [textOf(row.staff_id), emailOf(textOf(row.email))]
  const person = { name: nameOf(`${textOf(row.firstname)} ${textOf(row.lastname)}`, email), email }
  known.staff.set(id, person)
  const role = textOf(row.isadmin) === '1' ? 'admin' : 'agent'
  if (email) out.write('users', { external_id: KEY(id), ...person, role })
  else out.leaveOut('users', KEY(id), 'has no usable address')
}

function writeUser(row: Row, known: Known, out: OutFolder, zone: string): void {
  const id = textOf(row.id)
  const given = known.emails.get(id) ?? []
  const email = given.map(emailOf).find(Boolean)
  const person = { name: nameOf(textOf(row.name), email), email }
  known.users.set(id, person)
  if (!email) return void out.leaveOut('contacts', KEY(id), 'has no usable address')
  const details = known.details.get(`user ${id}`) ?? {}
  const losses = noLosses()
  const company_id = idOf(row.org_id)
  out.write(
    'contacts',
    {
      ...{ external_id: KEY(id), ...person, emails: given.filter((one) => emailOf(one) !== email) },
      ...{ phone: textOf(details.phone), notes: textOf(details.notes), company_id: company_id && KEY(company_id) },
      custom: customIn(details, ['user_id', 'name', 'email', 'phone', 'notes'], losses),
      created_at: timeOf(row.created, zone),
    },
    losses,
  )
}

function writeTicket(row: Row, known: Known, out: OutFolder, zone: string): void {
  const id = textOf(row.ticket_id)
  const state = known.names.get(`ticket_status ${textOf(row.status_id)}`)
  if (state === 'deleted') return void out.leaveOut('tickets', KEY(id), 'was deleted')
  const details = known.details.get(`ticket ${id}`) ?? {}
  const losses = noLosses()
  const status = STATES[state ?? '']
  if (!status) losses.left_out.push({ path: '/status', message: `"${state ?? ''}" is unknown, and became open` })
  const priority = textOf(details.priority)
  const [user_id, staff_id] = [idOf(row.user_id), idOf(row.staff_id)]
  if (staff_id && !known.staff.get(staff_id)?.email) {
    losses.left_out.push({ path: '/assignee_id', message: 'is no agent of the source' })
  }
  const subject = subjectOf(textOf(details.subject))
  known.tickets.set(id, subject)
  const others = {
    department: known.names.get(`department ${textOf(row.dept_id)}`),
    topic: known.names.get(`help_topic ${textOf(row.topic_id)}`),
    team: known.names.get(`team ${textOf(row.team_id)}`),
    due_at: timeOf(row.duedate, zone),
  }
  out.write(
    'tickets',
    {
      contact_id: user_id && known.users.get(user_id)?.email ? KEY(user_id) : null,
      ...{ external_id: KEY(id), code: textOf(row.number), subject, status: status ?? 'open' },
      priority: PRIORITIES[Number(priority) - 1] ?? PRIORITIES.find((one) => one === priority.toLowerCase()),
      assignee_id: staff_id && known.staff.get(staff_id)?.email ? KEY(staff_id) : undefined,
      custom: customIn(details, ['ticket_id', 'subject', 'priority'], losses, others),
      ...{ created_at: timeOf(row.created, zone), updated_at: timeOf(row.updated ?? row.lastupdate, zone) },
    },
    losses,
  )
}

/** Joins the pieces of files: they come in their order. */
async function writeFiles(source: Source, known: Known, out: OutFolder): Promise<void> {
  const wanted = new Set([...known.attached.values()].flat().map(({ file_id }) => file_id))
  if (wanted.size === 0) return
  fs.mkdirSync('files', { recursive: true, mode: 0o700 })
  for await (const { row } of source.rows(['file_chunk'], PREFIX)) {
    const id = textOf(row.file_id)
    if (!wanted.has(id) || !/^\d+$/.test(id) || !row.filedata) continue
    const place = `files/${id}`
    if (!fs.existsSync(place)) out.files++
    fs.appendFileSync(place, row.filedata, { mode: 0o600 })
  }
}

type Way = { known: Known; source: Source; out: OutFolder; zone: string }

async function writeEntry(row: Row, ticket: string | undefined, { known, source, out, zone }: Way): Promise<void> {
  const id = textOf(row.id)
  const type = TYPES[textOf(row.type)]
  const attached = takeFrom(known.attached, id)
  const reason =
    (!type && 'is a line of the timeline') ||
    (ticket === undefined && 'its ticket is not brought, or it is of a task') ||
    ((Number(textOf(row.flags)) & HIDDEN) !== 0 && 'is hidden: an earlier form of another one')
  if (reason) return void out.leaveOut('messages', KEY(id), reason)
  const mail = known.message_ids.get(id)
  const is_html = textOf(row.format) === 'html'
  const person = known.staff.get(idOf(row.staff_id) ?? '') ?? known.users.get(idOf(row.user_id) ?? '')
  const losses = noLosses()
  // Inline images are named by the key of the file, as `cid:KEY`.
  const files = attached.map(({ file_id, name }) => {
    const file = known.files.get(file_id)
    const url = file && fs.existsSync(`files/${file_id}`) ? `files/${file_id}` : undefined
    const [content_type, content_id] = [file?.type || undefined, file?.key || undefined]
    return { places: [], id: file_id, url, filename: firstOf(name, file?.name), content_type, content_id }
  })
  const body = withTitle(row, known.tickets.get(ticket!) ?? '', is_html)
  out.write(
    'messages',
    {
      ...{ external_id: KEY(id), ticket_id: KEY(ticket), ...type },
      ...bodiesOf(is_html ? body : '', is_html ? '' : body),
      sender: { name: nameOf(textOf(row.poster) || (person?.name ?? '')), email: person?.email ?? null },
      ...(mail && { email_message_id: messageIdsOf(mail.mid)[0], references: referencesIn(mail.headers) }),
      ...{ attachments: await source.attach(files, out, losses), created_at: timeOf(row.created, zone) },
    },
    losses,
  )
}

/** Notes have titles, in which there may be all that they say. */
function withTitle(row: Row, subject: string, is_html: boolean): string {
  const [body, title] = [textOf(row.body), textOf(row.title).trim()]
  if (textOf(row.type) !== 'N' || title === '' || title === subject) return body
  return is_html ? `<p><b>${escapeHtml(title)}</b></p>${body}` : `${title}\n\n${body}`
}

function writeCollaborator(row: Row, ticket: string | undefined, known: Known, out: OutFolder): void {
  const external_id = `${KEY(ticket)}:${textOf(row.user_id)}`
  const person = known.users.get(textOf(row.user_id))
  if (ticket === undefined) return void out.leaveOut('participants', external_id, 'its ticket is not brought')
  if (!person?.email) return void out.leaveOut('participants', external_id, 'has no usable address')
  // Before there were flags, all were in copy.
  const flags = row.flags ? Number(textOf(row.flags)) : ACTIVE | IN_COPY
  if ((flags & IN_COPY) === 0) return void out.leaveOut('participants', external_id, 'was in blind copy')
  const confirmed = (flags & ACTIVE) !== 0 && textOf(row.isactive) !== '0'
  out.write('participants', { external_id, ticket_id: KEY(ticket), ...person, confirmed })
}
