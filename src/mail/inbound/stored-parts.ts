/** Stores the attachments of an email before it is filed, because bytes cannot be written in a transaction. */

import { gathered } from '../../base/flow/gather'
import { log, safeError } from '../../base/log'
import type { Scope } from '../../base/scope'
import { discardUploads, storeAttachments } from '../../desk/attachments/commands'
import { decideAll } from './decide'
import type { StoredPart } from './mail-draft'
import type { InboundMail } from './message'

/** Messages of an organization that are asked about at the same time share the statements. */
const decideTogether = gathered(
  (asked: { scope: Scope; mail: InboundMail }[]) =>
    decideAll(
      asked[0]!.scope,
      asked.map(({ mail }) => mail),
    ),
  { key: ({ scope }) => scope.organization_id, most_runs: 1, rest_ms: 20 },
)

type File = { filename: string; content_type: string; content_id: string | null; content: Uint8Array }

/**
 * Stores what will be attached: nothing when it is certain that no message will have it. The decision may still change
 * in the transaction; the job that removes unused uploads takes what is left over after a day.
 */
export async function storeParts(scope: Scope, mail: InboundMail): Promise<StoredPart[]> {
  const files: File[] = mail.content?.attachments ?? [originalOf(mail)]
  if (files.length === 0 || mail.bounce) return []
  const { outcome, spam_by } = await decideTogether({ scope, mail })
  // The messages before it may become others than they seem now: then it is filed.
  const is_held = outcome === 'spam' && spam_by !== 'repeat'
  if (outcome === 'duplicate' || outcome === 'own' || is_held) return []
  const stored = await storeAttachments(
    scope,
    files.map(({ content, ...file }) => ({ ...file, body: content })),
  )
  return stored.map(({ id }, index) => ({ id, content_id: files[index]!.content_id }))
}

/** Never rejects: when this fails too, the job that removes unused uploads finds them in a day. */
export async function discardParts(scope: Scope, parts: StoredPart[]): Promise<void> {
  if (parts.length === 0) return
  const ids = parts.map(({ id }) => id)
  await discardUploads(scope, ids).catch((error) => log.warn({ error: safeError(error) }, 'uploads stay for a day'))
}

/** The attachment of a message that cannot be parsed. */
function originalOf({ raw }: InboundMail): File {
  return { filename: 'message.eml', content_type: 'message/rfc822', content_id: null, content: raw }
}
