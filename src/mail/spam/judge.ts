/** Judges if mail is spam: by the word of a trusted relay, else by rspamd. */

import { config } from '../../base/config'
import type { MAIL_JUDGES } from '../../base/db/schema'
import { headerBlock, splitHeader } from '../../base/mime/headers'
import { type Delivery, findHandover } from '../sender/client'
import { readRelayVerdict } from './relay-verdict'
import { askRspamd } from './rspamd'

/** The verdict of a judge on a message. */
export type SpamVerdict = {
  is_spam: boolean
  /** As the judge counts; null when it gives no number. */
  score: number | null
  by: (typeof MAIL_JUDGES)[number]
}

type SpamQuestion = {
  raw: Uint8Array
  recipient: string
  /** Null when it is not known. */
  envelope_sender: string | null
  /** Null when nothing is known of the server that delivered it. */
  delivery: Delivery | null
}

/** Bytes of a message in which its header is read. */
const MAX_HEADER_BYTES = 262_144

/** Asks the judges. Takes 5 seconds at most, and never rejects. @returns null when none says anything */
export async function judgeSpam(question: SpamQuestion): Promise<SpamVerdict | null> {
  const { raw, delivery } = question
  const fields = splitHeader(headerBlock(raw.subarray(0, MAX_HEADER_BYTES)))
  const handover = delivery && findHandover(delivery, fields)
  const said = handover?.is_relayed ? readRelayVerdict(fields.slice(0, handover.own_fields)) : null
  if (said) return { ...said, by: 'relay' }
  if (!config.RSPAMD_URL) return null
  const judged = await askRspamd(config.RSPAMD_URL, { ...question, client: handover?.client ?? null })
  return judged && { ...judged, by: 'rspamd' }
}
