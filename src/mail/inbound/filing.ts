/**
 * Files messages: the one way in for the outbox and for imports. `readMail` parses, `decide` says what the message
 * becomes (a dry run ends there), `prepareFiling` stores its attachments, and `fileAll` carries it out, for many
 * messages of an organization as for one.
 */
import { isPassing } from '../../base/db/violations'
import { gathered } from '../../base/flow/gather'
import { log, safeError } from '../../base/log'
import type { InboundSteps } from '../../base/metrics/inbound-steps'
import type { Scope } from '../../base/scope'
import { lockMail } from '../../desk/messages/conversation'
import { DAEMON } from '../parse/bounce-words'
import { type ParserOptions, parseInWorker } from '../parse/lanes'
import { endsOf, UnparsableMail } from '../parse/parse'
import { withSenders } from './author'
import { type Filing, fileUnrelated } from './file-unrelated'
import { MAX_ANCESTORS } from './mail-draft'
import { type InboundMail, inboundMail, type LedgerEntry } from './message'
import { findSent, withOurs } from './own-mail'
import { discardParts, storeParts } from './stored-parts'
import { readAnswer } from './team-mail'

/** Messages of an organization that are asked about at the same time share the statements. */
const withSender = gathered(
  (asked: { scope: Scope; mail: InboundMail }[]) =>
    withSenders(
      asked[0]!.scope,
      asked.map(({ mail }) => mail),
    ),
  { key: ({ scope }) => scope.organization_id, most_runs: 1, rest_ms: 20 },
)

/**
 * Parses a message, in another process, finds its sender, and tells if it is ours. A message that the parser refuses is
 * an InboundMail without content.
 * @throws ParserBusy unless `is_patient`; other errors say nothing about the message: it is to be tried again
 */
export async function readMail(
  scope: Scope,
  entry: LedgerEntry,
  raw: Uint8Array,
  { steps, ...options }: ReadOptions,
): Promise<InboundMail> {
  steps.enter('wait')
  const mail = await parseEntry(entry, raw, { ...options, onStart: () => steps.enter('parse') })
  steps.enter('check')
  const [known, sent] = await Promise.all([withSender({ scope, mail }), findSent({ scope, mail })])
  return withOurs(scope, known, sent)
}

type ReadOptions = Pick<ParserOptions, 'is_slow' | 'is_patient' | 'group' | 'file'> & { steps: InboundSteps }

async function parseEntry(entry: LedgerEntry, raw: Uint8Array, options: ParserOptions): Promise<InboundMail> {
  try {
    const envelope_sender = kindOf(entry.envelope_sender)
    return inboundMail(entry, raw, await parseInWorker(raw, { ...options, envelope_sender }))
  } catch (error) {
    if (!(error instanceof UnparsableMail)) throw error
    log.warn({ error: safeError(error) }, 'an email could not be parsed, its original is attached to a ticket')
    return inboundMail(entry, raw, null)
  }
}

function kindOf(envelope_sender: string | null) {
  if (envelope_sender === null) return 'unknown'
  // Some mail systems name their daemon instead of nobody.
  return envelope_sender === '' || DAEMON.test(envelope_sender) ? 'null sender' : 'an address'
}

/** Stores the attachments of a message, and reads the words of an answer. To be called outside a transaction. */
export async function prepareFiling(scope: Scope, mail: InboundMail, steps: InboundSteps): Promise<Filing> {
  steps.enter('store')
  const answer = await readAnswer(scope, mail)
  const parts = await storeParts(scope, mail)
  steps.enter('wait')
  return { mail, parts, answer, steps }
}

/**
 * Files messages of an organization in the caller's transaction, after their ledger rows were written: all of them or
 * none. Each becomes what it would become alone, in the order in which they arrived. Messages that may change what
 * another one becomes are filed in rounds, each of which sees what the rounds before have written. Messages that have
 * nothing to do with each other take one round, and so as many statements as a single one.
 */
export async function fileAll(scope: Scope, filings: Filing[]): Promise<void> {
  for (const { steps } of filings) steps.enter('file')
  await lockMail(scope)
  const inOrder = filings.toSorted((a, b) => (a.mail.id < b.mail.id ? -1 : 1))
  for (let left = inOrder; left.length > 0; ) {
    const round = unrelatedOf(left)
    const filed = await fileUnrelated(scope, round)
    left = left.filter((filing) => !filed.has(filing))
  }
}

/**
 * Removes the attachments of a message whose filing failed for good: another try stores them anew. After a passing
 * fault they wait for it. `scope` is outside the transaction that failed.
 */
export async function discardAfter(error: unknown, scope: Scope, { parts }: Filing): Promise<void> {
  if (!isPassing(error)) await discardParts(scope, parts)
}

/** Bytes of messages that are written together: their statements take some 20 times as much memory. */
const ROUND_BYTES = 1_000_000

/** Takes messages for a round: of those that name each other, or what they answer, by an id, only the first. */
function unrelatedOf(filings: Filing[]): Filing[] {
  const seen = new Set<string>()
  let bytes = 0
  return filings.filter(({ mail }) => {
    const names = namesOf(mail)
    const is_taken = bytes < ROUND_BYTES && !names.some((name) => seen.has(name))
    for (const name of names) seen.add(name)
    if (is_taken) bytes += mail.raw.length
    return is_taken
  })
}

/** The common key of deliveries of a message, and of messages of its conversation. */
function namesOf({ headers, fingerprint }: InboundMail): string[] {
  const { message_id, in_reply_to, references } = headers
  return [message_id ?? fingerprint.text, ...endsOf([...in_reply_to, ...references], MAX_ANCESTORS)]
}
