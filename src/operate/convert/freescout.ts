/**
 * Converts FreeScout: a dump of its database, and `storage/app/attachment`. Codes of types and states are those of its
 * current release.
 */

import type { Value } from './dump-values'
import { cut, emailOf, emailsOf, given, idOf, messageIdsOf, nameOf, subjectOf, textOf, timeOf } from './foreign-values'
import type { Source } from './source'
import type { OutFolder } from './write-folder'

const KEY = (id: string) => `freescout:${id}`

/** Conversations: active, pending, closed, spam. */
const STATUSES: Record<string, string> = { '1': 'open', '2': 'pending', '3': 'closed' }
const [CONVERSATION_PUBLISHED, THREAD_PUBLISHED] = ['2', '2']
/** Threads: of a customer, of an agent, a note. Others are events of the timeline. */
const TYPES: Record<string, object> = {
  '1': { direction: 'inbound' },
  '2': { direction: 'outbound' },
  '3': { is_internal: true },
  '5': { direction: 'inbound' },
  '8': { direction: 'inbound' },
}

type Person = { name: string; email: string | undefined }
type Row = Record<string, Value>

export async function convertFreescout(source: Source, out: OutFolder): Promise<void> {
  const emails = new Map<string, string[]>()
  for await (const { row } of source.rows(['emails'])) {
    const email = emailOf(textOf(row.email))
    if (email) emails.set(textOf(row.customer_id), [...(emails.get(textOf(row.customer_id)) ?? []), email])
  }
  const customers = new Map<string, Person>()
  const users = new Map<string, Person>()
  const conversations = new Set<string>()
  const files = new Map<string, Row[]>()
  for await (const { table, row } of source.rows(['customers', 'users'])) {
    if (table === 'users') writeUser(row, users, out)
    else writeCustomer(row, emails, customers, out)
  }
  for await (const { table, row } of source.rows(['conversations', 'attachments'])) {
    if (table === 'conversations') writeConversation(row, { customers, users, conversations }, out)
    else files.set(textOf(row.thread_id), [...(files.get(textOf(row.thread_id)) ?? []), row])
  }
  for await (const { row } of source.rows(['threads'])) {
    const conversation = textOf(row.conversation_id)
    const type = TYPES[textOf(row.type)]
    if (!type || !conversations.has(conversation) || textOf(row.state) !== THREAD_PUBLISHED) continue
    const attachments = await filesOf(files.get(textOf(row.id)) ?? [], source, out)
    out.write('messages', given({ ...messageOf(row, type, customers, users), attachments }))
  }
}

function personOf(row: Row, email: string | undefined): Person {
  return { name: nameOf(`${textOf(row.first_name)} ${textOf(row.last_name)}`, email), email }
}

function writeUser(row: Row, users: Map<string, Person>, out: OutFolder): void {
  const person = personOf(row, emailOf(textOf(row.email)))
  users.set(textOf(row.id), person)
  // 2 is an admin.
  const role = textOf(row.role) === '2' ? 'admin' : 'agent'
  if (person.email) out.write('users', { external_id: KEY(textOf(row.id)), ...person, role })
}

function writeCustomer(row: Row, all: Map<string, string[]>, customers: Map<string, Person>, out: OutFolder): void {
  const id = textOf(row.id)
  const [email, ...emails] = all.get(id) ?? []
  const person = personOf(row, email)
  customers.set(id, person)
  if (!email) return
  const phone = cut(/"value":"([^"]+)"/.exec(textOf(row.phones))?.[1], 64)
  const notes = cut([textOf(row.company), textOf(row.notes)].filter(Boolean).join('\n'), 10_000)
  const [created_at, updated_at] = [timeOf(row.created_at), timeOf(row.updated_at)]
  out.write('contacts', given({ external_id: KEY(id), ...person, emails, phone, notes, created_at, updated_at }))
}

type Known = { customers: Map<string, Person>; users: Map<string, Person>; conversations: Set<string> }

function writeConversation(row: Row, { customers, users, conversations }: Known, out: OutFolder): void {
  const id = textOf(row.id)
  const status = STATUSES[textOf(row.status)]
  if (!status || textOf(row.state) !== CONVERSATION_PUBLISHED) return
  conversations.add(id)
  const [customer_id, user_id] = [idOf(row.customer_id), idOf(row.user_id)]
  out.write('tickets', {
    contact_id: customer_id && customers.get(customer_id)?.email ? KEY(customer_id) : null,
    ...given({
      ...{ external_id: KEY(id), code: textOf(row.number), subject: subjectOf(textOf(row.subject)), status },
      assignee_id: user_id && users.has(user_id) ? KEY(user_id) : undefined,
      ...{ created_at: timeOf(row.created_at), updated_at: timeOf(row.updated_at) },
    }),
  })
  for (const email of emailsOf(`${textOf(row.cc)} ${textOf(row.bcc)}`)) {
    out.write('participants', { external_id: `${KEY(id)}:${email}`, ticket_id: KEY(id), email, confirmed: true })
  }
}

function messageOf(row: Row, type: object, customers: Map<string, Person>, users: Map<string, Person>) {
  const customer = customers.get(idOf(row.created_by_customer_id) ?? idOf(row.customer_id) ?? '')
  const user = users.get(idOf(row.created_by_user_id) ?? '')
  const inbound = 'direction' in type && type.direction === 'inbound'
  const sender = (inbound ? customer : user) ?? { name: 'Unknown', email: undefined }
  const headers = textOf(row.headers)
  const references = /^(?:references|in-reply-to):((?:[^\n]|\n[ \t])*)/gim
  return {
    external_id: KEY(textOf(row.id)),
    ticket_id: KEY(textOf(row.conversation_id)),
    ...type,
    sender: { name: sender.name, email: sender.email ?? null },
    body_html: textOf(row.body),
    cc: emailsOf(textOf(row.cc)),
    email_message_id: messageIdsOf(textOf(row.message_id))[0],
    references: [...headers.matchAll(references)].flatMap(([, value]) => messageIdsOf(value!)),
    created_at: timeOf(row.created_at),
  }
}

async function filesOf(rows: Row[], source: Source, out: OutFolder) {
  const files = []
  for (const row of rows) {
    const stored = `${textOf(row.file_dir)}${textOf(row.file_name)}`
    const url = await source.copyFile(
      [`attachment/${stored}`, `storage/app/attachment/${stored}`, stored],
      textOf(row.id),
      out,
    )
    if (!url) continue
    const content_type = textOf(row.mime_type) || undefined
    files.push({ url, filename: textOf(row.file_name), content_type, content_id: cut(textOf(row.content_id), 255) })
  }
  return files
}
