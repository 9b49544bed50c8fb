/**
 * Reads what SpamAssassin or rspamd at a relay wrote into the header of mail. Pure.
 *
 * The fields have no standard: no parser of mail knows more of them than their text.
 */
import type { HeaderField } from '../../base/mime/headers'

type Said = { is_spam: boolean; score: number | null }

/** The most of a field. */
const MAX_FIELD = 10_000

const READERS: Record<string, (text: string) => Said | undefined> = {
  /** `YES` */
  'x-spam-flag': (text) => {
    const [, word] = /^\s*(yes|no|true|false)\b/i.exec(text) ?? []
    return word === undefined ? undefined : { is_spam: isYes(word), score: null }
  },
  /** `Yes, score=7.3 required=5.0 tests=…` */
  'x-spam-status': (text) => {
    const [, word] = /^\s*(yes|no)\b/i.exec(text) ?? []
    const [, score] = /\b(?:score|hits)=\s*(-?\d+(?:\.\d+)?)/i.exec(text) ?? []
    return word === undefined ? undefined : { is_spam: isYes(word), score: score === undefined ? null : Number(score) }
  },
  /** `default: True [16.21 / 15.00]; …` */
  'x-spamd-result': (text) => {
    const [, word, score] = /^\s*[\w.-]+:\s*(true|false)\s*\[\s*(-?\d+(?:\.\d+)?)\s*\//i.exec(text) ?? []
    return word === undefined ? undefined : { is_spam: isYes(word), score: Number(score) }
  },
}

/**
 * Reads the topmost of the fields. When it has no number, the next one that agrees
 * with it has.
 * @returns null when there is none, or when it cannot be read
 */
export function readRelayVerdict(fields: HeaderField[]): Said | null {
  const said = fields
    .filter(({ key }) => Object.hasOwn(READERS, key))
    .map(({ key, value }) => (value.length > MAX_FIELD ? undefined : READERS[key]!(value)))
  const [first] = said
  if (!first) return null
  const counted = said.find((one) => one?.is_spam === first.is_spam && one.score !== null)
  return { ...first, score: first.score ?? counted?.score ?? null }
}

function isYes(word: string): boolean {
  return /^(?:yes|true)$/i.test(word)
}
