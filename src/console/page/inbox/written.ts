/** The text of a reply or a note, and the one that the service has of it: how the two are compared. */
import type { Attachment } from '../../../desk/attachments/model'
import type { Draft } from '../../../desk/drafts/model'
import type { Message } from '../../../desk/messages/model'
import { t } from '../words/catalogue'

type Said = Pick<Draft, 'body' | 'format' | 'quote'> & { files: string; cc: string; mentions: string }

/** A draft that the service has: what was read or written last. */
type Kept = Said & Pick<Draft, 'id' | 'author' | 'based_on'> & { etag: string | null }

/** The text here, and what is known of it. */
export type Written = {
  text: string
  /** The field that it is written in: the plain one, or the editor. */
  format: Draft['format']
  files: Attachment[]
  /** Addresses that get a copy; null: the confirmed participants. */
  cc: string[] | null
  /** The earlier messages below it; null: as the mailbox says. */
  quote: Draft['quote']
  /** Members that a note names. */
  mentions: Draft['mentions']
  /** Messages that were there when it was begun, and those that came later and were shown. */
  seen: string[]
  /** The newest public one of them. */
  based_on?: string
  /** Idempotency-Key of what is written now, once it was sent: sending it again after an error does nothing twice. */
  key?: string
  /** It is being sent: what would be typed now would go with it, or be lost. */
  is_leaving?: boolean
  kept?: Kept
  /** The draft as somebody made it elsewhere, while something else was written here. */
  other?: { draft: Draft; etag: string | null }
  /** Why it could not be saved. */
  fault?: string
}

export const EMPTY: Written = { text: '', format: 'text', files: [], cc: null, quote: null, mentions: [], seen: [] }
/** The confirmed participants get a copy. */
export const EVERYBODY = 'participants'

/** The address of an attachment. The service keeps its id. */
const ADDRESS = /(?<=<img src=")[^"]*\/api\/v1\/attachments\/([0-9a-f-]{36})\/content[^"]*/g
const REFERENCE = /(?<=<img src=")cid:([0-9a-f-]{36})/g

/** The text of a draft, with addresses at which its pictures are shown. */
export function shownText({ body, format, attachments }: Draft): string {
  if (format !== 'html') return body
  const addresses = new Map(attachments.map(({ id, url }) => [id, url.replaceAll('&', '&amp;')]))
  return body.replace(REFERENCE, (reference, id) => addresses.get(id) ?? reference)
}

/** The text and its form; of files without one, words that say what they are. */
export function saidWords({ text, format, files }: Written): Pick<Draft, 'body' | 'format'> {
  if (text.trim()) return { body: format === 'html' ? text.replace(ADDRESS, 'cid:$1') : text, format }
  return { body: files.length > 0 ? t('composer.only_files') : '', format: 'text' }
}

function idsOf(things: { id: string }[]): string {
  return things
    .map(({ id }) => id)
    .sort()
    .join()
}

function copiesOf(cc: string[] | null): string {
  return cc?.join() ?? EVERYBODY
}

/** Tells if both say the same. */
export function isSame(one: Said, other: Said): boolean {
  const facts = ['body', 'format', 'files', 'cc', 'quote', 'mentions'] as const
  return facts.every((fact) => one[fact] === other[fact])
}

/** The text here, to compare it. */
export function saidIn(written: Written): Said {
  const { files, cc, quote, mentions } = written
  return { ...saidWords(written), files: idsOf(files), cc: copiesOf(cc), quote, mentions: idsOf(mentions) }
}

/** The text that the service has, to compare it. @param etag its tag; null when it is not known */
export function keptOf(draft: Draft, etag: string | null): Kept {
  const { id, author, body, format, based_on, attachments, cc, quote, mentions } = draft
  const ids = { files: idsOf(attachments), mentions: idsOf(mentions) }
  return { id, author, body, format, based_on, ...ids, cc: copiesOf(cc), quote, etag }
}

/** The messages that the writer has seen once these were shown. */
export function seenOf(messages: Message[]): { seen: string[]; based_on?: string } {
  const based_on = messages.findLast(({ is_internal }) => !is_internal)?.id
  return { seen: messages.map(({ id }) => id), based_on }
}
