/**
 * Converts FreeScout: a dump of its database, and `storage/app/attachment`. Codes of types and states are those of its
 * current release.
 */
import { noLosses } from '../import/fitting'
import type { Value } from './dump-values'
import { bodiesOf, keyed, Labels } from './foreign-rows'
import {
  addTo,
  customOf,
  emailOf,
  emailsOf,
  idOf,
  linesOf,
  messageIdsOf,
  nameOf,
  objectsOf,
  referencesIn,
  subjectOf,
  takeFrom,
  textOf,
  timeOf,
} from './foreign-values'
import type { Source } from './source'
import type { OutFolder } from './write-folder'

const KEY = keyed('freescout')

/** Conversations: active, pending, closed, spam. */
const STATUSES: Record<string, string> = { '1': 'open', '2': 'pending', '3': 'closed' }
const SPAM = '4'
/** States of conversations and threads that are left out; 2 is published. */
const STATES: Record<string, string> = { '1': 'is a draft', '3': 'was deleted' }
/** Threads: of a customer, of an agent, a note, a call, a chat. Others are events of the timeline. */
const TYPES: Record<string, object> = {
  '1': { direction: 'inbound' },
  '2': { direction: 'outbound' },
  '3': { is_internal: true },
  '5': { direction: 'inbound' },
  '8': { direction: 'inbound' },
}

type Person = { name: string; email: string | undefined }
type Row = Record<string, Value>

class Known {
  readonly emails = new Map<string, string[]>()
  readonly mailboxes = new Map<string, string>()
  readonly tags = new Map<string, string>()
  readonly tags_of = new Map<string, string[]>()
  readonly customers = new Map<string, Person>()
  readonly users = new Map<string, Person>()
  readonly conversations = new Set<string>()
  readonly files = new Map<string, Row[]>()
}

export async function convertFreescout(source: Source, out: OutFolder): Promise<void> {
  const known = new Known()
  const labels = new Labels(KEY, out)
  for await (const { table, row } of source.rows(['emails', 'mailboxes', 'tags', 'conversation_tag'])) {
    if (table === 'emails') addTo(known.emails, textOf(row.customer_id), textOf(row.email))
    else if (table === 'mailboxes') known.mailboxes.set(textOf(row.id), textOf(row.email))
    else if (table === 'tags') known.tags.set(textOf(row.id), textOf(row.name))
    else addTo(known.tags_of, textOf(row.conversation_id), textOf(row.tag_id))
  }
  for await (const { table, row } of source.rows(['customers', 'users'])) {
    if (table === 'users') writeUser(row, known, out)
    else writeCustomer(row, known, out)
  }
  for await (const { table, row } of source.rows(['conversations', 'attachments'])) {
    if (table === 'conversations') writeConversation(row, known, labels, out)
    else addTo(known.files, textOf(row.thread_id), row)
  }
  for await (const { row } of source.rows(['threads'])) await writeThread(row, known, source, out)
  out.leaveFiles([...known.files.values()].flat().map(({ id }) => KEY(textOf(id))))
}

function personOf(row: Row, email: string | undefined): Person {
  return { name: nameOf(`${textOf(row.first_name)} ${textOf(row.last_name)}`, email), email }
}

function writeUser(row: Row, { users }: Known, out: OutFolder): void {
  const [id, email] = [textOf(row.id), emailOf(textOf(row.email))]
  const person = personOf(row, email)
  users.set(id, person)
  // 2 is an admin.
  const role = textOf(row.role) === '2' ? 'admin' : 'agent'
  if (email) out.write('users', { external_id: KEY(id), ...person, role })
  else out.leaveOut('users', KEY(id), 'has no usable address')
}

function writeCustomer(row: Row, { emails: all, customers }: Known, out: OutFolder): void {
  const id = textOf(row.id)
  const given = all.get(id) ?? []
  const email = given.map(emailOf).find(Boolean)
  const person = personOf(row, email)
  customers.set(id, person)
  if (!email) return void out.leaveOut('contacts', KEY(id), 'has no usable address')
  const losses = noLosses()
  const [phone = '', ...phones] = valuesIn(row.phones)
  const { job_title, address, city, state, zip, country } = row
  const place = Object.entries({ job_title, address, city, state, zip, country })
  const custom = customOf(
    {
      phones,
      websites: valuesIn(row.websites),
      ...Object.fromEntries(place.map(([name, one]) => [name, textOf(one)])),
    },
    losses,
  )
  const emails = given.filter((one) => emailOf(one) !== email)
  const [created_at, updated_at] = [timeOf(row.created_at), timeOf(row.updated_at)]
  const notes = linesOf(row.company, row.notes)
  const fields = { external_id: KEY(id), ...person, emails, phone, notes, custom, created_at, updated_at }
  out.write('contacts', fields, losses)
}

/** The values of a list in JSON, of texts or of objects with a value. */
function valuesIn(value: Value | undefined): string[] {
  const list = parsed(textOf(value))
  const values = [...objectsOf(list).map((one) => one.value), ...(Array.isArray(list) ? list : [])]
  return values.map(textOf).filter((one) => one !== '')
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function writeConversation(row: Row, known: Known, labels: Labels, out: OutFolder): void {
  const { customers, users, mailboxes, tags, tags_of } = known
  const [id, status] = [textOf(row.id), textOf(row.status)]
  const reason = (status === SPAM && 'is spam') || STATES[textOf(row.state)]
  if (reason) return void out.leaveOut('tickets', KEY(id), reason)
  known.conversations.add(id)
  const losses = noLosses()
  if (!STATUSES[status]) losses.left_out.push({ path: '/status', message: `${status} is unknown, and became open` })
  if (emailsOf(textOf(row.bcc)).length > 0) losses.left_out.push({ path: '/bcc', message: 'blind copies are not kept' })
  const [customer_id, user_id] = [idOf(row.customer_id), idOf(row.user_id)]
  if (user_id && !users.get(user_id)?.email) {
    losses.left_out.push({ path: '/assignee_id', message: 'is no user of the source' })
  }
  out.write(
    'tickets',
    {
      contact_id: customer_id && customers.get(customer_id)?.email ? KEY(customer_id) : null,
      ...{ external_id: KEY(id), code: textOf(row.number), subject: subjectOf(textOf(row.subject)) },
      status: STATUSES[status] ?? 'open',
      assignee_id: user_id && users.get(user_id)?.email ? KEY(user_id) : undefined,
      label_ids: labels.keysOf((tags_of.get(id) ?? []).map((tag) => tags.get(tag))),
      custom: customOf({ mailbox: mailboxes.get(textOf(row.mailbox_id)) }, losses),
      ...{ created_at: timeOf(row.created_at), updated_at: timeOf(row.updated_at) },
    },
    losses,
  )
  for (const email of emailsOf(textOf(row.cc))) {
    out.write('participants', { external_id: `${KEY(id)}:${email}`, ticket_id: KEY(id), email, confirmed: true })
  }
}

async function writeThread(row: Row, known: Known, source: Source, out: OutFolder): Promise<void> {
  const [id, conversation] = [textOf(row.id), textOf(row.conversation_id)]
  const type = TYPES[textOf(row.type)]
  const attached = takeFrom(known.files, id)
  const reason =
    (!type && 'is a line of the timeline') ||
    STATES[textOf(row.state)] ||
    (!known.conversations.has(conversation) && 'its ticket is not brought')
  if (reason) return void out.leaveOut('messages', KEY(id), reason)
  const losses = noLosses()
  if (emailsOf(textOf(row.bcc)).length > 0) losses.left_out.push({ path: '/bcc', message: 'blind copies are not kept' })
  const files = attached.map((file) => {
    const stored = `${textOf(file.file_dir)}${textOf(file.file_name)}`
    return {
      shown_at: placeOf(`/storage/attachment/${stored}`),
      places: [`attachment/${stored}`, `storage/app/attachment/${stored}`, stored],
      ...{ id: textOf(file.id), filename: textOf(file.file_name), content_type: textOf(file.mime_type) || undefined },
      content_id: textOf(file.content_id) || undefined,
    }
  })
  const customer = known.customers.get(idOf(row.created_by_customer_id) ?? idOf(row.customer_id) ?? '')
  const user = known.users.get(idOf(row.created_by_user_id) ?? '')
  const is_inbound = type && 'direction' in type && type.direction === 'inbound'
  const sender = (is_inbound ? customer : user) ?? { name: 'Unknown', email: undefined }
  const attachments = await source.attach(files, out, losses)
  out.write(
    'messages',
    {
      ...{ external_id: KEY(id), ticket_id: KEY(conversation), ...type },
      sender: { name: sender.name, email: sender.email ?? null },
      ...bodiesOf(source.show(textOf(row.body), placeOf)),
      cc: emailsOf(textOf(row.cc)),
      email_message_id: messageIdsOf(textOf(row.message_id))[0],
      references: referencesIn(textOf(row.headers)),
      ...{ attachments, created_at: timeOf(row.created_at) },
    },
    losses,
  )
}

/** Texts name a file by a path, with its id and a token behind it. */
function placeOf(address: string): string {
  const [path = address] = /\/storage\/attachment\/[^?#]*/.exec(address) ?? []
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
