/** Converts osTicket: a dump of its database, which has the files too, in pieces. */
import fs from 'node:fs'
import type { Value } from './dump-values'
import { cut, emailOf, given, idOf, messageIdsOf, nameOf, subjectOf, textOf, timeOf } from './foreign-values'
import type { Source } from './source'
import type { OutFolder } from './write-folder'

const KEY = (id: string) => `osticket:${id}`
const PREFIX = 'ost_'

/** Entries: M message, R response, N note. */
const TYPES: Record<string, object> = {
  M: { direction: 'inbound' },
  R: { direction: 'outbound' },
  N: { is_internal: true },
}
/** States of statuses; those that are missing here, such as deleted, are left out. */
const STATES: Record<string, string> = { open: 'open', closed: 'closed', archived: 'closed' }
const PRIORITIES = ['low', 'normal', 'high', 'urgent']

type Row = Record<string, Value>
type Person = { name: string; email: string | undefined }

/** What is read before tickets and entries. */
class Known {
  readonly emails = new Map<string, string[]>()
  readonly staff = new Map<string, Person>()
  readonly users = new Map<string, Person>()
  readonly states = new Map<string, string>()
  readonly details = new Map<string, { subject: string; priority: string | undefined }>()
  readonly message_ids = new Map<string, { mid: string; headers: string }>()
  readonly threads = new Map<string, string>()
  readonly files = new Map<string, { name: string; type: string }>()
  readonly attached = new Map<string, { file_id: string; is_inline: boolean }[]>()
}

/** @param zone of the server */
export async function convertOsticket(source: Source, out: OutFolder, zone = 'UTC'): Promise<void> {
  const known = new Known()
  for await (const { table, row } of source.rows(LOOKUPS, PREFIX)) note(table, row, known, out)
  for await (const { row } of source.rows(['user'], PREFIX)) writeUser(row, known, out, zone)
  const tickets = new Set<string>()
  for await (const { row } of source.rows(['ticket'], PREFIX)) writeTicket(row, known, tickets, out, zone)
  for await (const { row } of source.rows(['thread'], PREFIX)) {
    const ticket = textOf(row.object_id)
    if (textOf(row.object_type) === 'T' && tickets.has(ticket)) known.threads.set(textOf(row.id), ticket)
  }
  await writeFiles(source, known, out)
  for await (const { table, row } of source.rows(['thread_entry', 'thread_collaborator'], PREFIX)) {
    const ticket = known.threads.get(textOf(row.thread_id))
    if (!ticket) continue
    if (table === 'thread_entry') writeEntry(row, ticket, known, out, zone)
    else writeCollaborator(row, ticket, known, out)
  }
}

const LOOKUPS = [
  ...[
    'user_email',
    'staff',
    'ticket_status',
    'ticket__cdata',
    'organization',
    'thread_entry_email',
    'file',
    'attachment',
  ],
]

function note(table: string, row: Row, known: Known, out: OutFolder): void {
  const id = textOf(row.id)
  if (table === 'user_email') {
    const [user, email] = [textOf(row.user_id), emailOf(textOf(row.address))]
    if (email) known.emails.set(user, [...(known.emails.get(user) ?? []), email])
  } else if (table === 'staff') noteStaff(row, known, out)
  else if (table === 'ticket_status') known.states.set(id, textOf(row.state))
  else if (table === 'ticket__cdata') {
    const priority = PRIORITIES[Number(textOf(row.priority)) - 1]
    known.details.set(textOf(row.ticket_id), { subject: textOf(row.subject), priority })
  } else if (table === 'organization') {
    const domains = textOf(row.domain)
      .split(/[\s,]+/)
      .filter(Boolean)
      .slice(0, 20)
    out.write('companies', given({ external_id: KEY(id), name: nameOf(textOf(row.name)), domains }))
  } else if (table === 'thread_entry_email') {
    known.message_ids.set(textOf(row.thread_entry_id), { mid: textOf(row.mid), headers: textOf(row.headers) })
  } else if (table === 'file') known.files.set(id, { name: textOf(row.name), type: textOf(row.type) })
  else if (textOf(row.type) === 'H') {
    const attached = known.attached.get(textOf(row.object_id)) ?? []
    attached.push({ file_id: textOf(row.file_id), is_inline: textOf(row.inline) === '1' })
    known.attached.set(textOf(row.object_id), attached)
  }
}

function noteStaff(row: Row, known: Known, out: OutFolder): void {
  const email = emailOf(textOf(row.email))
  const id = textOf(row.staff_id)
  const person = { name: nameOf(`${textOf(row.firstname)} ${textOf(row.lastname)}`, email), email }
  known.staff.set(id, person)
  const role = textOf(row.isadmin) === '1' ? 'admin' : 'agent'
  if (email) out.write('users', { external_id: KEY(id), ...person, role })
}

function writeUser(row: Row, known: Known, out: OutFolder, zone: string): void {
  const id = textOf(row.id)
  const [email, ...emails] = known.emails.get(id) ?? []
  const person = { name: nameOf(textOf(row.name), email), email }
  known.users.set(id, person)
  if (!email) return
  const company_id = idOf(row.org_id)
  const created_at = timeOf(row.created, zone)
  out.write(
    'contacts',
    given({ external_id: KEY(id), ...person, emails, company_id: company_id && KEY(company_id), created_at }),
  )
}

function writeTicket(row: Row, known: Known, tickets: Set<string>, out: OutFolder, zone: string): void {
  const id = textOf(row.ticket_id)
  const status = STATES[known.states.get(textOf(row.status_id)) ?? 'open']
  if (!status) return
  tickets.add(id)
  const { subject = '', priority } = known.details.get(id) ?? {}
  const [user_id, staff_id] = [idOf(row.user_id), idOf(row.staff_id)]
  out.write('tickets', {
    contact_id: user_id && known.users.get(user_id)?.email ? KEY(user_id) : null,
    ...given({
      ...{ external_id: KEY(id), code: textOf(row.number), subject: subjectOf(subject), status, priority },
      assignee_id: staff_id && KEY(staff_id),
      ...{ created_at: timeOf(row.created, zone), updated_at: timeOf(row.updated ?? row.lastupdate, zone) },
    }),
  })
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

function writeEntry(row: Row, ticket: string, known: Known, out: OutFolder, zone: string): void {
  const id = textOf(row.id)
  const type = TYPES[textOf(row.type)]
  if (!type) return
  const mail = known.message_ids.get(id)
  const body = textOf(row.body)
  const is_html = textOf(row.format) === 'html'
  const person = known.staff.get(idOf(row.staff_id) ?? '') ?? known.users.get(idOf(row.user_id) ?? '')
  out.write(
    'messages',
    given({
      ...{ external_id: KEY(id), ticket_id: KEY(ticket), ...type },
      ...(is_html ? { body_html: body } : { body }),
      sender: { name: nameOf(textOf(row.poster) || (person?.name ?? '')), email: person?.email ?? null },
      email_message_id: mail && messageIdsOf(mail.mid)[0],
      references: mail && referencesIn(mail.headers),
      attachments: filesOf(id, known, out),
      created_at: timeOf(row.created, zone),
    }),
  )
}

/** Inline images are named by the key of the file, as `cid:KEY`. */
function filesOf(entry: string, known: Known, out: OutFolder) {
  return (known.attached.get(entry) ?? []).flatMap(({ file_id }) => {
    const file = known.files.get(file_id)
    const url = `files/${file_id}`
    if (!file || !fs.existsSync(url)) {
      out.missing_files++
      return []
    }
    return [given({ url, filename: file.name || 'file', content_type: cut(file.type, 255) })]
  })
}

function writeCollaborator(row: Row, ticket: string, known: Known, out: OutFolder): void {
  const person = known.users.get(textOf(row.user_id))
  if (!person?.email) return
  const external_id = `${KEY(ticket)}:${textOf(row.user_id)}`
  out.write('participants', { external_id, ticket_id: KEY(ticket), ...person, confirmed: true })
}

/** The Message-IDs that a mail refers to, from its headers. */
function referencesIn(headers: string): string[] {
  const fields = headers.matchAll(/^(?:references|in-reply-to):((?:[^\n]|\n[ \t])*)/gim)
  return [...fields].flatMap(([, value]) => messageIdsOf(value!))
}
