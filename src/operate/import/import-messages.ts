/** Imports messages with their files, and makes their Message-IDs lead to the tickets. */

import type { Fault } from '../../base/errors'
import type { RenderedBody } from '../../base/html/body'
import type { Format } from '../../base/html/formats'
import { render } from '../../base/html/render'
import { unboxed } from '../../base/html/view'
import { type Scope, together } from '../../base/scope'
import { claimForEach } from '../../desk/attachments/claim-uploads'
import { storeAttachments } from '../../desk/attachments/commands'
import { findHeld } from '../../desk/holds/holds'
import { addAnchors } from '../../desk/messages/add-anchors'
import type { DraftWithId } from '../../desk/messages/draft'
import { insertMessages } from '../../desk/messages/insert-messages'
import { NO_MENTIONS } from '../../desk/messages/model'
import { keepPromises } from '../../desk/promises/keep'
import { addEachToSearch, rebuildSearch } from '../../desk/search/ticket-document'
import { recount } from '../../desk/turn/turn'
import { bytesOf } from '../backup/read-file'
import { faultOfFile, refuseFaults } from './files'
import type { Losses } from './fitting'
import { judgeQuotes, type ReadyQuotation, renderQuoted, withoutQuotes, writeQuotes } from './import-quotations'
import { imagesOfFolder, noteFiles, placeImages, storeHeld } from './imported-images'
import { hashOf } from './key-hashes'
import {
  type Find,
  type Kind,
  keyIn,
  type Left,
  type Line,
  leaveUnknown,
  type Placed,
  type Prepared,
  unknownKey,
} from './kind'
import type { Referred } from './known'
import { ImportedMessage } from './model'

export const MESSAGES: Kind<ImportedMessage> = {
  name: 'messages',
  model: ImportedMessage,
  most: 200,
  shape: (given) => ({ ...given, ticket_id: keyIn(given, 'ticket_id', 'ticket') }),
  references: ({ ticket_id, quotes = [], mentions = [] }) => [
    ['tickets', ticket_id],
    ...mentions.map(({ id }) => ['users', id] as [Referred, string]),
    ...quotes.flatMap((one): [Referred, string][] => [
      ['tickets', one.ticket_id],
      ...(one.contact_id ? [['contacts', one.contact_id] as [Referred, string]] : []),
    ]),
  ],
  judge: judgeMessage,
  prepare: prepareMessages,
  states: statesOf,
  stateOf: (line, prepared) => {
    const { name, email } = senderOf(line.input)
    return hashOf((prepared.get(line.keys[0]!) as Ready).body, name, email ?? '')
  },
  write: writeMessages,
}

function judgeMessage(input: ImportedMessage, find: Find, losses: Losses): Fault[] {
  const { ticket_id, is_internal, direction, body, body_html, mentions = [] } = input
  const faults = judgeQuotes(input)
  if (!is_internal && mentions.length > 0) faults.push({ path: '/mentions', message: NO_MENTIONS })
  for (const { id } of mentions) leaveUnknown(losses, '/mentions', 'users', find('users', id))
  if (find('tickets', ticket_id) === undefined) faults.push(unknownKey('/ticket_id', 'tickets'))
  if (!is_internal && !direction) faults.push({ path: '/direction', message: 'is required of a public message' })
  if (body === undefined && body_html === undefined) faults.push({ path: '/body', message: 'is required' })
  return faults
}

type Ready = RenderedBody & { body: string; file_ids: string[]; attachment_ids: string[]; quotations: ReadyQuotation[] }

/** Stores the files of new messages, and renders the bodies. */
async function prepareMessages(
  scope: Scope,
  lines: (Line<ImportedMessage> & { row_id?: string })[],
  prepared: Prepared,
): Promise<void> {
  const ids = await storeFiles(
    scope,
    lines.filter(({ row_id }) => !row_id),
  )
  for (const line of lines) {
    const there = line.row_id ? await attachedTo(scope, line.row_id) : undefined
    const own = there ? there.map(({ id }) => id) : (ids.get(line.keys[0]!) ?? [])
    const { own: input, quoted } = withoutQuotes(line.input)
    const words = shownWords(input)
    const held = await storeHeld(scope, words.text, words.format, there)
    const { shown, kept } = imagesOfFolder(input, own)
    const rendered = await render(shown(held.html), held.format, scope.organization_id)
    const given = words.text === input.body ? held.body : input.body
    const body = given === undefined ? rendered.text : kept(given)
    const quotations = await renderQuoted(scope, quoted, held.format, { shown, kept })
    const whole = (field: keyof ReadyQuotation, own_part: string) =>
      [own_part, ...quotations.map((one) => one[field])].join(field === 'text' ? '\n' : '')
    prepared.set(line.keys[0]!, {
      format: rendered.format,
      body: whole('body', body),
      body_html: whole('body_html', rendered.body_html),
      text: whole('text', rendered.text),
      file_ids: [...own, ...held.ids],
      attachment_ids: there ? held.ids : [...own, ...held.ids],
      quotations,
    } satisfies Ready)
  }
}

/** The words that are shown, in their form. HTML beside a body goes before it, unless the form is `text`. */
function shownWords({ body, body_html, format }: ImportedMessage): { text: string; format: Format | undefined } {
  if (body !== undefined && (format === 'text' || !body_html)) return { text: body, format }
  return { text: unboxed(body_html ?? ''), format: 'html' }
}

/** Stores files of several messages together. @returns the ids of their attachments by the keys of the messages */
async function storeFiles(scope: Scope, lines: Line<ImportedMessage>[]): Promise<Map<string, string[]>> {
  const given = lines.flatMap(({ keys, input }) =>
    (input.attachments ?? []).map((file, at) => ({ key: keys[0]!, file, path: `/attachments/${at}/url` })),
  )
  if (given.length === 0) return new Map()
  const faults = await Promise.all(given.map(({ file, path }) => faultOfFile(file, path)))
  refuseFaults(faults.flatMap((fault) => fault ?? []))
  const stored = await storeAttachments(
    scope,
    given.map(({ file: { url, filename, content_type = 'application/octet-stream', content_id } }) => ({
      ...{ filename, content_type, content_id },
      body: bytesOf(url),
    })),
    'scan later',
  )
  const ids = new Map<string, string[]>()
  for (const [at, { key }] of given.entries()) ids.set(key, [...(ids.get(key) ?? []), stored[at]!.id])
  return ids
}

async function attachedTo({ sql, organization_id }: Scope, message_id: string) {
  return sql<{ id: string; digest: string }[]>`
    select id, digest from attachments
    where organization_id = ${organization_id} and message_id = ${message_id} order by id`
}

/** A text that is here as it was imported has the same hash. */
async function statesOf({ sql, organization_id }: Scope, ids: string[]): Promise<Map<string, string>> {
  const rows = await sql<{ id: string; body: string; sender_name: string; sender_email: string | null }[]>`
    select id, body, sender_name, sender_email from messages
    where organization_id = ${organization_id} and id = any(${ids}::uuid[])`
  return new Map(rows.map((row) => [row.id, hashOf(row.body, row.sender_name, row.sender_email ?? '')]))
}

function senderOf({ sender }: ImportedMessage): { name: string; email: string | null } {
  const email = sender?.email?.trim() || null
  return { name: sender?.name || email?.split('@')[0] || 'Unknown', email }
}

function draftOf({ id, input }: Placed<ImportedMessage>, ready: Ready, find: Find): DraftWithId {
  const {
    is_internal = false,
    direction,
    auto_reply,
    cc,
    email_message_id,
    references = [],
    reply_text,
    mentions = [],
    sender_verified,
    from_list,
  } = input
  const sender = senderOf(input)
  const { file_ids: _, quotations: __, ...text } = ready
  const is_inbound = !is_internal && direction === 'inbound'
  return {
    ...{ id, ...text, is_internal, auto_reply },
    ...(is_inbound && { sender_verified, from_list }),
    direction: is_internal ? null : direction!,
    channel: input.channel ?? (email_message_id && !is_internal ? 'email' : 'api'),
    sender_name: sender.name,
    sender_email: sender.email,
    reply_text: direction === 'inbound' ? reply_text : null,
    cc: [...new Set(cc)],
    email_message_id: email_message_id ?? null,
    references: [...new Set(references)],
    mentions: mentions.flatMap((one) => {
      const id = find('users', one.id)
      return id ? { id, name: one.name } : []
    }),
  }
}

async function writeMessages(
  scope: Scope,
  lines: Placed<ImportedMessage>[],
  find: Find,
  prepared: Prepared,
): Promise<Left<ImportedMessage>> {
  const { sql, organization_id } = scope
  const tickets = await lockTickets(
    scope,
    lines.flatMap(({ input }) => find('tickets', input.ticket_id) ?? []),
  )
  const ticketOf = ({ input }: Placed<ImportedMessage>) => find('tickets', input.ticket_id) ?? ''
  const changed = lines.filter(({ is_new }) => !is_new).map(ticketOf)
  const held = new Set((await findHeld(scope, [...new Set(changed)])).map(({ id }) => id))
  // A ticket that was deleted or merged here takes no more messages, and those of one that is on hold stay.
  const left: Left<ImportedMessage> = new Map()
  for (const line of lines) {
    if (!tickets.has(ticketOf(line))) left.set(line, 'its ticket was deleted or merged here')
    else if (!line.is_new && held.has(ticketOf(line))) left.set(line, 'its ticket is on hold')
  }
  const written = lines
    .filter((line) => !left.has(line))
    .map((line) => {
      const ready = prepared.get(line.keys[0]!) as Ready
      return { ...line, ready, ticket_id: find('tickets', line.input.ticket_id)!, draft: draftOf(line, ready, find) }
    })
  const fresh = written.filter(({ is_new }) => is_new)
  await noteFiles(
    scope,
    fresh.map(({ input, draft }) => ({ ...input, ids: draft.attachment_ids ?? [] })),
  )
  await together([
    insertMessages(
      sql,
      fresh.map(({ ticket_id, draft }) => ({ organization_id, ticket_id, draft })),
    ),
    claimForEach(
      scope,
      written.map(({ draft }) => ({ message_id: draft.id, given: draft.attachment_ids ?? [] })),
    ),
    addAnchors(scope, written),
    addWords(scope, tickets, fresh),
  ])
  for (const { ticket_id, draft } of written.filter(({ is_new }) => !is_new)) await rewrite(scope, ticket_id, draft)
  await writeQuotes(scope, written, find)
  for (const { ready, ticket_id, draft } of written) {
    ready.body = await placeImages(scope, ticket_id, draft, ready.file_ids)
  }
  const ticket_ids = [...new Set(written.map(({ ticket_id }) => ticket_id))]
  await recount(scope, ticket_ids)
  await keepPromises(scope, ticket_ids)
  return left
}

async function lockTickets({ sql, organization_id }: Scope, ids: string[]): Promise<Map<string, string>> {
  const rows = await sql<{ id: string; code: string }[]>`
    select id, code from tickets
    where organization_id = ${organization_id} and id = any(${[...new Set(ids)]}::uuid[]) and deleted_at is null
      and merged_into_id is null
    order by id for no key update`
  return new Map(rows.map(({ id, code }) => [id, code]))
}

/** Adds the words of new messages to the documents of their tickets, each of which is written once. */
async function addWords(
  scope: Scope,
  tickets: Map<string, string>,
  messages: { ticket_id: string; draft: DraftWithId }[],
): Promise<void> {
  const by_ticket = Map.groupBy(messages, ({ ticket_id }) => ticket_id)
  await addEachToSearch(
    scope,
    [...by_ticket].map(([ticket_id, some]) => {
      return { ticket_id, code: tickets.get(ticket_id)!, text: some.map(({ draft }) => draft.text).join('\n') }
    }),
  )
}

async function rewrite(
  { sql, organization_id, ...scope }: Scope,
  ticket_id: string,
  draft: DraftWithId,
): Promise<void> {
  const { id, body, format, body_html, reply_text = null, is_internal, direction, sender_name, sender_email } = draft
  const { email_message_id = null, cc = [], mentions = [], sender_verified = null, from_list = false } = draft
  await sql`
    update messages set body = ${body}, format = ${format}, body_html = ${body_html}, reply_text = ${reply_text},
      is_internal = ${is_internal}, direction = ${direction}, sender_name = ${sender_name},
      sender_email = ${sender_email}, cc = ${cc}::text[], email_message_id = ${email_message_id},
      mentions = ${JSON.stringify(mentions)}::text::jsonb, sender_verified = ${sender_verified}, from_list = ${from_list}
    where organization_id = ${organization_id} and id = ${id}`
  await rebuildSearch({ sql, organization_id, ...scope }, ticket_id)
}
