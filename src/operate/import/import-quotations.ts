/** Imports what messages quote, so that an erasure finds the words and files of a person here as well. */
import { addressKey } from '../../base/address/email'
import { newId, ZERO_ID } from '../../base/db/columns'
import { insertRows } from '../../base/db/insert-rows'
import type { Fault } from '../../base/errors'
import { render } from '../../base/html/render'
import type { Scope } from '../../base/scope'
import { EXPORTED, type Ways } from './imported-images'
import type { Find } from './kind'
import { findKnown, keyOf } from './known'
import type { ImportedMessage } from './model'

/** A quotation as it stands below a message. */
export type ReadyQuotation = { body: string; body_html: string; text: string }

/** An imported message, with the row that it is now. */
type Quoting = {
  id: string
  keys: string[]
  is_new: boolean
  input: ImportedMessage
  ready: { quotations: ReadyQuotation[]; file_ids: string[] }
}

function lengthsOf({ quotes = [] }: ImportedMessage): { piece: number; length: number }[] {
  const shown = quotes.flatMap(({ piece, length }) => (piece > 0 && length ? [{ piece, length }] : []))
  return shown.toSorted((one, other) => one.piece - other.piece)
}

/** Says what is wrong with the quotations of a message: they stand at the end of its body. */
export function judgeQuotes(input: ImportedMessage): Fault[] {
  const lengths = lengthsOf(input)
  const sum = lengths.reduce((total, { length }) => total + length, 0)
  const are_numbered = lengths.every(({ piece }, at) => piece === at + 1)
  if (are_numbered && (sum === 0 || sum <= (input.body?.length ?? 0))) return []
  return [{ path: '/quotes', message: 'must be parts at the end of the body, numbered from 1' }]
}

/** Divides a message from the quotations below it. Each was written by itself, and is rendered so. */
export function withoutQuotes(input: ImportedMessage): { own: ImportedMessage; quoted: string[] } {
  const { body = '' } = input
  const quoted: string[] = []
  let end = body.length
  for (const { length } of lengthsOf(input).toReversed()) {
    quoted.unshift(body.slice(end - length, end))
    end -= length
  }
  if (quoted.length === 0) return { own: input, quoted }
  return { own: { ...input, body: body.slice(0, end), body_html: undefined }, quoted }
}

/** Renders quotations in the form of their message. */
export function renderQuoted(
  { organization_id }: Scope,
  quoted: string[],
  format: ImportedMessage['format'],
  { shown, kept }: Ways,
): Promise<ReadyQuotation[]> {
  return Promise.all(
    quoted.map(async (body) => {
      const { body_html, text } = await render(shown(body), format, organization_id)
      return { body: kept(body), body_html, text }
    }),
  )
}

/** Writes whose words messages quote, and which of their files are copies, instead of what was there. */
export async function writeQuotes(scope: Scope, messages: Quoting[], find: Find): Promise<void> {
  const { sql, organization_id } = scope
  const changed = messages.filter(({ is_new }) => !is_new).map(({ id }) => id)
  if (changed.length > 0) {
    await sql`
      delete from message_quotes where organization_id = ${organization_id} and message_id = any(${changed}::uuid[])`
  }
  const keys = messages.flatMap(({ input: { quotes = [] } }) => quotes.map((one) => keyOf('messages', one.message_id)))
  const known = await findKnown(scope, keys)
  const here = new Map(messages.flatMap(({ id, keys }) => keys.map((key) => [key, id] as const)))
  const rows = messages.flatMap(({ id, input: { quotes = [], attachments = [] }, ready }) => {
    const files = new Map(attachments.map(({ url }, at) => [url, ready.file_ids[at]]))
    return quotes.map(({ piece, message_id, ticket_id, contact_id, email, length, attachment_ids = [] }) => {
      const key = keyOf('messages', message_id)
      const quotation = length ? ready.quotations[piece - 1] : undefined
      return {
        ...{ organization_id, message_id: id, piece },
        source_id: here.get(key) ?? known.get(key)?.row_id ?? newId(),
        source_ticket_id: find('tickets', ticket_id) ?? ZERO_ID,
        contact_id: (contact_id && find('contacts', contact_id)) || null,
        sender_key: email ? addressKey(email) : null,
        body_length: quotation?.body.length,
        html_length: quotation?.body_html.length,
        attachment_ids: attachment_ids.flatMap((one) => files.get(`${EXPORTED}${one}`) ?? []),
      }
    })
  })
  await insertRows(sql, 'message_quotes', rows, sql`on conflict do nothing`)
}
