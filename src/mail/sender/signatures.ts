/**
 * Verifies the signatures of a message (DKIM and ARC) and reads its From with mailauth, in slices: a message of 25 MB
 * takes 0.3 to 1 s of a processor, in pieces of some 10 ms, between which the service does other work.
 */
import { Readable } from 'node:stream'
import { type HeaderField, headerBlock, splitHeader } from '../../base/mime/headers'
import type { RecordLookup } from '../../base/net/dns'
import { once } from './once'
import { bestOf, type Result, resultOf } from './results'

/** A domain whose signature is valid for the whole body, and the names of the header fields that it covers. */
type Signed = { domain: string; fields: string[] }

export type Signatures = {
  /** The addresses of From as mailauth reads them. Null when the header is beyond the limits. */
  from: string[] | null
  from_fields: number
  dkim: Result
  passing: Signed[]
  /** Domains whose key could not be looked up. */
  undecided: string[]
  arc: Result
  /**
   * A valid signature covers less than what is shown: a field was added to it that programs read first. Of a message
   * that is not acceptable: it has such a field, signed or not.
   */
  is_extended: boolean
}

/** Fields that a message has once (RFC 5322 section 3.6, RFC 2045 section 3). Of several, programs show the first. */
const SINGLE_FIELDS = [
  ...['date', 'from', 'sender', 'reply-to', 'to', 'cc', 'message-id', 'in-reply-to', 'references', 'subject'],
  ...['content-type', 'content-transfer-encoding'],
]

/**
 * Mail beyond these limits is made to take long; its signatures count as not acceptable. Real headers have some 20 KB.
 */
const MAX_HEADER_BYTES = 262_144
const MAX_HEADER_LINES = 3000
/** Blanks, line ends or dots in a row. Patterns of the library look at the end of a run from each place in it. */
const MAX_RUN = 300
const RUNS = new Set(Buffer.from(' \t\r\n.'))
/** A line end before the colon of a field, which the library reads and nobody writes. */
const PARTED_NAME = /^[!-9;-~]+\s*\n\s*:/m
const MAX_FROM = 10_000
/** Bytes of fields that name others, each of which the library looks for in the whole header. */
const MAX_NAMING = 24_000
const NAMING_FIELDS = ['dkim-signature', 'arc-message-signature', 'return-path']
const MAX_SIGNATURES = 8
/** The library scans an unfinished line again with each slice. */
const MAX_LINE_BYTES = 524_288
const SLICE_BYTES = 16_384

const UNACCEPTABLE: Signatures = {
  from: null,
  from_fields: 1,
  dkim: 'policy',
  passing: [],
  undecided: [],
  arc: 'none',
  is_extended: false,
}

/** The body takes too long, or has a line beyond the limit. */
class BodyTooSlow extends Error {}

const importVerifiers = once(() => Promise.all([import('mailauth/lib/dkim/verify'), import('mailauth/lib/arc')]))

/**
 * @param time_limit_ms for reading the message; more counts as a signature that is not acceptable, because a forger
 *   must
 *   gain nothing by a message that takes long
 */
export async function readSignatures(
  raw: Uint8Array,
  lookup: RecordLookup,
  time_limit_ms: number,
): Promise<Signatures> {
  const header = headerBlock(raw)
  const fields = splitHeader(header)
  const unacceptable = { ...UNACCEPTABLE, is_extended: leavesOut(fields) }
  const signed = fields.filter(({ key }) => key === 'dkim-signature').length
  if (header.length > MAX_HEADER_BYTES || takesLong(header)) return unacceptable
  if (sizeOf(fields, ['from']) > MAX_FROM || sizeOf(fields, NAMING_FIELDS) > MAX_NAMING) return unacceptable
  const has_body = signed > 0 || fields.some(({ key }) => key === 'arc-message-signature')
  if (!has_body || signed > MAX_SIGNATURES) {
    const read = await verify(Readable.from([header, '\r\n\r\n']), fields, lookup)
    return has_body ? { ...unacceptable, from: read.from, from_fields: read.from_fields } : read
  }
  try {
    return await verify(Readable.from(slicesOf(raw, performance.now() + time_limit_ms)), fields, lookup)
  } catch (error) {
    if (!(error instanceof BodyTooSlow)) throw error
    const { from, from_fields } = await verify(Readable.from([header, '\r\n\r\n']), fields, lookup)
    return { ...unacceptable, from, from_fields }
  }
}

/**
 * A signature of a part of the body (`l=`) lets anybody add to the message, and so does one of a part of the fields of
 * one name: it counts only when it covers all of it.
 */
async function verify(message: Readable, fields: HeaderField[], lookup: RecordLookup): Promise<Signatures> {
  const [{ dkimVerify }, { arc }] = await importVerifiers()
  const found = await dkimVerify(message, { resolver: lookup, rejectRsaSha1: true })
  const results = found.results.map(({ signingDomain, signingHeaders, status }) => {
    const covered = (signingHeaders?.headers ?? []).map((line) => line.slice(0, line.indexOf(':')).trim().toLowerCase())
    const is_extended = status.result === 'pass' && leavesOut(fields, covered)
    const result = status.underSized || is_extended ? ('policy' as const) : resultOf(status.result)
    return { domain: signingDomain ?? '', fields: covered, result, is_extended }
  })
  const having = (wanted: Result) => results.filter(({ result }) => result === wanted)
  const { chain, ...arc_data } = found.arc ?? {}
  const sealed = chain ? (await arc({ ...arc_data, chain }, { resolver: lookup })).status.result : undefined
  return {
    // Names of mailboxes without a domain, such as MAILER-DAEMON, are no addresses.
    from: found.headerFrom.filter((address) => address.includes('@')),
    from_fields: found.fromFields,
    dkim: bestOf(results.map(({ result }) => result)),
    passing: having('pass'),
    undecided: having('temperror').map(({ domain }) => domain),
    arc: found.arc?.error ? 'fail' : resultOf(sealed),
    is_extended: results.some(({ is_extended }) => is_extended),
  }
}

/**
 * True when a message has a field once more than the signature that covers it: the check reads the last one first.
 * @param signed by default each of these fields once
 */
function leavesOut(fields: HeaderField[], signed = SINGLE_FIELDS): boolean {
  return SINGLE_FIELDS.some((name) => {
    const covered = signed.filter((one) => one === name).length
    return covered > 0 && fields.filter(({ key }) => key === name).length > covered
  })
}

/**
 * Gives the message piece by piece, with line ends as they are signed (CRLF), and lets other work run in between.
 * @throws BodyTooSlow
 */
async function* slicesOf(raw: Uint8Array, ends_at: number): AsyncGenerator<Buffer> {
  let line_bytes = 0
  let last = ''
  for (let start = 0; start < raw.length; start += SLICE_BYTES) {
    const slice = Buffer.from(raw.subarray(start, start + SLICE_BYTES))
    const end = slice.lastIndexOf(10)
    line_bytes = end < 0 ? line_bytes + slice.length : slice.length - end
    if (line_bytes > MAX_LINE_BYTES || performance.now() > ends_at) throw new BodyTooSlow('The body takes too long')
    const text = slice.toString('latin1')
    const is_split = last === '\r' && text.startsWith('\n')
    const lines = text.replace(/(?<!\r)\n/g, '\r\n')
    last = text.at(-1) ?? ''
    yield Buffer.from(is_split ? lines.slice(1) : lines, 'latin1')
    await new Promise<void>((resolve) => setImmediate(resolve))
  }
}

function takesLong(header: Uint8Array): boolean {
  let [lines, run] = [0, 0]
  for (const byte of header) {
    run = RUNS.has(byte) ? run + 1 : 0
    if (byte === 10) lines += 1
    if (run > MAX_RUN || lines > MAX_HEADER_LINES) return true
  }
  return PARTED_NAME.test(Buffer.from(header).toString('latin1'))
}

function sizeOf(fields: HeaderField[], keys: string[]): number {
  return fields.reduce((size, { key, value }) => (keys.includes(key) ? size + value.length : size), 0)
}
