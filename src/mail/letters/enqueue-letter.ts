/** Letters: mail of the service itself, sent through the outbox. This file writes and takes back those that wait. */
import { newId } from '../../base/db/columns'
import type { Scope } from '../../base/scope'
import { encrypt } from '../../base/secrets'
import { enqueueWork } from '../../delivery/outbox/enqueue'
import type { LetterText } from './letter-texts'
import type { Way } from './ways'

type NewLetter = {
  /** Its subject, such as an invitation: `withdrawLetters` finds it by this id. */
  about_id: string
  recipient: string
  /** A letter whose link is not valid any more does not go out. */
  valid_s: number
} & LetterText

/**
 * Stores a letter and enqueues it. It holds a link that opens an account, so its text is encrypted while it waits, and
 * the row goes when it was sent.
 */
export async function enqueueLetter(scope: Scope, way: Way, letter: NewLetter): Promise<void> {
  const { sql, organization_id } = scope
  const { about_id, recipient, valid_s, subject, text } = letter
  const id = newId()
  const at = { column: 'letters.sealed_text', organization_id, id } as const
  const mailbox_id = way.type === 'mailbox' ? way.mailbox_id : null
  await sql`
    insert into letters (organization_id, id, about_id, mailbox_id, recipient, sealed_text, expires_at)
    values (${organization_id}, ${id}, ${about_id}, ${mailbox_id}, ${recipient},
      ${encrypt(JSON.stringify({ subject, text }), at)}, now() + make_interval(secs => ${valid_s}))`
  await enqueueWork(scope, 'letter', id, organization_id)
}

/** Removes the letters about something that wait: their links are not valid any more. */
export async function withdrawLetters({ sql, organization_id }: Scope, about_id: string): Promise<void> {
  await sql`delete from letters where organization_id = ${organization_id} and about_id = ${about_id}`
}
