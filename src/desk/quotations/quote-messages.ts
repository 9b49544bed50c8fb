/** Quotes messages below the one that begins a ticket: their words, and copies of their files. */

import { codePoints } from '../../base/address/characters'
import { newId } from '../../base/db/columns'
import { insertRows } from '../../base/db/insert-rows'
import { fieldError, unknownIds } from '../../base/errors'
import { type Format, formOfRow } from '../../base/html/formats'
import { renderText } from '../../base/html/render'
import { type Scope, together } from '../../base/scope'
import { asIds } from '../../base/shapes/ids'
import { allowFiles } from '../attachments/allowance'
import { type Owner, readCopied, readOwners } from '../messages/keep-pictures'
import { MOST_CHARACTERS } from '../messages/model'
import { channelOf } from '../messages/queries'
import { type Quotable, type Quotation, quotationOf } from './pieces'

const FIELD = '/quote_message_ids'
/** Files of all quoted messages. */
const MOST_FILES = 200
/** Bytes of texts that are read, and characters of HTML that are kept: as much as one message may have. */
const MOST_BYTES = 4 * MOST_CHARACTERS
const MOST_HTML = 2_000_000

/** The part below a message that is written. `sources` go with it into `message_quotes`. */
type Quoted = Quotation & { attachment_ids: string[]; sources: Source[] }

type Source = Owner & {
  piece: number
  body_length: number | null
  html_length: number | null
  attachment_ids: string[]
}

/**
 * Quotes public messages of one ticket, oldest first, in the caller's transaction. Its lock keeps an erasure waiting,
 * which then finds what was written here. Copies of files have the bytes of these; infected ones are left out.
 * @param own the text above
 * @param ends gets what is to be called once the transaction has ended
 * @throws MESSAGE_NOT_FOUND (unknown, or a note), VALIDATION_ERROR (of several tickets, too long, too many files);
 *   SERVICE_UNAVAILABLE, PAYLOAD_TOO_LARGE as for an upload
 */
export async function quoteMessages(
  scope: Scope,
  given: string[],
  own: { body: string; format: Format; body_html: string },
  ends: (() => void)[],
): Promise<Quoted> {
  const ids = await lockQuoted(scope, given)
  const [messages, files] = await together([readQuoted(scope, ids), lockFiles(scope, ids)])
  if (files.length > MOST_FILES) throw tooMuch(`must have at most ${MOST_FILES} files together`)
  const copies = await copyFiles(scope, files, ends)
  const copyOf = (id: string) => copies.get(id)
  const pieces: { message: Row; quotation: Quotation }[] = []
  for (const message of messages) {
    const words = await quotedWords(scope, message)
    pieces.push({ message, quotation: quotationOf({ ...message, words }, own.format, copyOf) })
  }
  const whole = (part: keyof Quotation) => pieces.map(({ quotation }) => quotation[part]).join('')
  const quotation = { body: whole('body'), body_html: whole('body_html'), text: whole('text') }
  const body = own.body + quotation.body
  const is_long = body.length > MOST_CHARACTERS && codePoints(body) > MOST_CHARACTERS
  if (is_long || own.body_html.length + quotation.body_html.length > MOST_HTML) throw tooLong()
  const all_ids = [...new Set([...ids, ...files.map(({ message_id }) => message_id)])]
  const [owners, inherited] = await together([readOwners(scope, all_ids), readCopied(scope, all_ids)])
  const copiesOf = (id: string) => files.flatMap((file) => (file.message_id === id ? copies.get(file.id)! : []))
  const direct = pieces.map(({ message: { id }, quotation }, index): Source => {
    const lengths = { body_length: quotation.body.length, html_length: quotation.body_html.length }
    return { piece: index + 1, ...owners.get(id)!, ...lengths, attachment_ids: copiesOf(id) }
  })
  const none = { body_length: null, html_length: null }
  const beside = [...owners.keys()].filter((id) => !ids.includes(id))
  const sources = [
    ...direct,
    ...beside.map((id): Source => ({ piece: 0, ...owners.get(id)!, ...none, attachment_ids: copiesOf(id) })),
    ...inherited.flatMap(({ message_id, attachment_ids: copied, ...source }): Source[] => {
      // A source of files alone has no words here.
      const piece = source.piece === 0 ? 0 : ids.indexOf(message_id) + 1
      const attachment_ids = copied.flatMap((id) => copies.get(id) ?? [])
      return piece === 0 && attachment_ids.length === 0 ? [] : [{ ...source, piece, ...none, attachment_ids }]
    }),
  ]
  return { ...quotation, attachment_ids: [...copies.values()], sources: onlyOnce(sources) }
}

/** Records the people and messages that a new message quotes. */
export async function insertQuotes(
  { sql, organization_id }: Scope,
  message_id: string,
  { sources }: Pick<Quoted, 'sources'>,
): Promise<void> {
  const rows = sources.map((source) => ({ organization_id, message_id, ...source }))
  await insertRows(sql, 'message_quotes', rows)
}

/** Locks the messages. @returns their ids, oldest first */
async function lockQuoted({ sql, organization_id }: Scope, given: string[]): Promise<string[]> {
  const found = await sql<{ id: string; ticket_id: string; bytes: number; html: number }[]>`
    select m.id, m.ticket_id, octet_length(m.body) as bytes, octet_length(m.body_html) as html from messages m
    join tickets t on t.organization_id = ${organization_id} and t.id = m.ticket_id and t.deleted_at is null
    where m.organization_id = ${organization_id} and m.id = any(${asIds(given)}::uuid[]) and not m.is_internal
    order by m.id for share of m`
  const known = new Set(found.map(({ id }) => id))
  const unknown = given.filter((id) => !known.has(id.toLowerCase()))
  if (unknown.length > 0) throw unknownIds('MESSAGE_NOT_FOUND', FIELD, [...new Set(unknown)])
  if (new Set(found.map(({ ticket_id }) => ticket_id)).size > 1) throw tooMuch('must be messages of one ticket')
  const sum = (sizes: number[]) => sizes.reduce((total, size) => total + size, 0)
  // Neither is read when it cannot fit.
  if (sum(found.map(({ bytes }) => bytes)) > MOST_BYTES || sum(found.map(({ html }) => html)) > 3 * MOST_HTML)
    throw tooLong()
  return found.map(({ id }) => id)
}

type Row = Omit<Quotable, 'words'> & {
  id: string
  body: string
  format: Format | null
  /** It came by email: `body` is its plain text, whatever its form is. */
  is_mail: boolean
}

function readQuoted({ sql, organization_id }: Scope, ids: string[]) {
  return sql<Row[]>`
    select m.id, m.body, m.format, m.body_html, m.direction = 'inbound' and ${channelOf(sql)} = 'email' as is_mail,
      m.sender_name, m.sender_email, m.created_at
    from messages m
    where m.organization_id = ${organization_id} and m.id = any(${ids}::uuid[]) order by m.id`
}

/** The words of a message. */
function quotedWords({ organization_id }: Scope, message: Row): string | Promise<string> {
  const is_text = message.is_mail || formOfRow(message) === 'text'
  return is_text ? message.body : renderText(message.body_html, organization_id)
}

type File = {
  id: string
  message_id: string
  filename: string
  content_type: string
  size: number
  digest: string
  storage_key: string
  content_id: string | null
  scan: string | null
}

/** Locks files of messages, and the pictures of others that they show, so that their bytes stay. */
function lockFiles({ sql, organization_id }: Scope, ids: string[]) {
  return sql<File[]>`
    select a.id, a.message_id, a.filename, a.content_type, a.size, a.digest, a.storage_key, a.content_id, a.scan
    from attachments a
    where a.organization_id = ${organization_id} and a.message_id is not null
      and (a.message_id = any(${ids}::uuid[]) or a.id = any(array(
        select p.attachment_id from message_pictures p
        where p.organization_id = ${organization_id} and p.message_id = any(${ids}::uuid[])
      ))) and a.scan is distinct from 'infected'
    order by a.id limit ${MOST_FILES + 1} for key share of a`
}

/** Writes copies as unused uploads. @returns their ids, by those of the files */
async function copyFiles(scope: Scope, files: readonly File[], ends: (() => void)[]): Promise<Map<string, string>> {
  const copies = new Map(files.map(({ id }) => [id, newId()]))
  if (files.length === 0) return copies
  const allowance = await allowFiles(
    scope,
    files.reduce((sum, { size }) => sum + size, 0),
  )
  ends.push(allowance.end)
  const { organization_id } = scope
  const rows = files.map(({ id, message_id: _, ...file }) => ({ ...file, organization_id, id: copies.get(id)! }))
  await insertRows(scope.sql, 'attachments', rows)
  return copies
}

/** A message may quote another one in two ways. */
function onlyOnce(sources: Source[]): Source[] {
  const by_key = new Map<string, Source>()
  for (const source of sources) {
    const key = `${source.piece} ${source.source_id}`
    const known = by_key.get(key)
    const attachment_ids = [...new Set([...(known?.attachment_ids ?? []), ...source.attachment_ids])]
    by_key.set(key, { ...source, ...known, attachment_ids })
  }
  return [...by_key.values()]
}

function tooLong() {
  return tooMuch(`must have at most ${MOST_CHARACTERS} characters together with the body`)
}

function tooMuch(fault: string) {
  return fieldError('VALIDATION_ERROR', FIELD, fault)
}
