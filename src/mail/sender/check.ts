/**
 * Checks who wrote a message: SPF (RFC 7208), DKIM (RFC 6376), ARC (RFC 8617) and, by them, DMARC (RFC 9989, before
 * 7489) for the domain of From. What a trusted relay found out counts instead, when it says so.
 *
 * mailauth does the checks. Its parts are imported with the first message: they take 33 MB and 0.2 s, which commands of
 * the operator do not need. Its main module would take three times as much, for what is not used here.
 */
import { toDomain } from '../../address/domains'
import { addressKey } from '../../address/email'
import { config } from '../../config'
import { once } from '../../flow/once'
import { log, safeError } from '../../log'
import { lookupFor, type RecordLookup } from '../../net/dns'
import { headerBlock, splitHeader } from '../mime/headers'
import { type Delivery, findHandover } from './client'
import { type Result, resultOf } from './results'
import { readSignatures, type Signatures } from './signatures'
import { type Judgement, readTrustedResults, verdictOf } from './trusted-results'

type SenderQuestion = {
  raw: Uint8Array
  /** The address in From as the ticket will show it; null without one. */
  from: string | null
  /** Empty for the null sender. */
  envelope_sender: string | null
  /** Null when the message did not come over SMTP. */
  delivery: Delivery | null
}

/** All checks of one message together. */
const LIMIT_MS = 5000
/** Reading the body ends earlier: mail that takes long must not keep the policy of its domain from being looked up. */
const BODY_LIMIT_MS = 3000
/** Bytes of a message in which its header is read. */
const MAX_HEADER_BYTES = 262_144

const UNKNOWN: Judgement = {
  sender_verified: null,
  authentication: { spf: 'none', dkim: 'none', dmarc: 'none', arc: 'none' },
}

// An import takes 50 microseconds each time, also of a module that is there.
const importSpf = once(() => import('mailauth/lib/spf'))
const importDmarc = once(() => import('mailauth/lib/dmarc'))

/**
 * Checks a message in at most 5 seconds. Never rejects: what cannot be looked up is `temperror`, and the sender is
 * then neither proven nor forged.
 */
export async function checkSender(question: SenderQuestion): Promise<Judgement> {
  try {
    return await judge(question, lookupFor(LIMIT_MS))
  } catch (error) {
    log.error({ error: safeError(error) }, 'the sender of an email cannot be checked')
    return UNKNOWN
  }
}

async function judge(question: SenderQuestion, lookup: RecordLookup): Promise<Judgement> {
  const { raw, from, envelope_sender, delivery } = question
  const fields = splitHeader(headerBlock(raw.subarray(0, MAX_HEADER_BYTES)))
  const handover = delivery && findHandover(delivery, fields)
  const client = handover?.client ?? null
  const domain = from === null ? undefined : toDomain(from.slice(from.lastIndexOf('@') + 1))
  const trusted = handover?.is_relayed ? readTrustedResults(fields, domain) : null
  const [spf, signatures] = await Promise.all([
    client ? checkSpf(client, envelope_sender ?? '', lookup) : NO_SPF,
    readSignatures(raw, lookup, BODY_LIMIT_MS),
  ])
  const found = trusted ?? (await checkDmarc(domain, spf, signatures, lookup))
  return isReadDifferently(from, signatures) ? { ...found, sender_verified: false } : found
}

type Spf = { result: Result; domain: string }

const NO_SPF: Spf = { result: 'none', domain: '' }

async function checkSpf(
  { address, helo }: { address: string; helo: string },
  sender: string,
  lookup: RecordLookup,
): Promise<Spf> {
  const { spf } = await importSpf()
  const { status, domain } = await spf({
    ip: address,
    helo: helo || `[${address}]`,
    sender,
    mta: config.SMTP_HOSTNAME,
    resolver: lookup,
  })
  return { result: resultOf(status.result), domain }
}

/**
 * Judges by DMARC. A failure does not count when an identity that could not be looked up would have made it a pass, or
 * when nobody knows which server sent the message.
 */
async function checkDmarc(
  domain: string | undefined,
  spf: Spf,
  { dkim, passing, undecided, arc }: Signatures,
  lookup: RecordLookup,
): Promise<Judgement> {
  const authentication = { spf: spf.result, dkim, dmarc: 'none' as Result, arc }
  if (!domain) return { sender_verified: null, authentication }
  const { dmarc } = await importDmarc()
  const evaluate = async (spf_passes: boolean, domains: string[]) => {
    const found = await dmarc({
      headerFrom: domain,
      spfDomains: spf_passes ? [spf.domain] : [],
      dkimDomains: domains.map((signed) => ({ domain: signed })),
      resolver: lookup,
    })
    return found ? { result: resultOf(found.status.result), policy: found.policy } : { result: 'none' as const }
  }
  const { result, policy } = await evaluate(spf.result === 'pass', passing)
  authentication.dmarc = result
  const sender_verified = verdictOf(result, policy)
  if (sender_verified !== false) return { sender_verified, authentication }
  const is_unknown =
    spf === NO_SPF ||
    (await evaluate(['pass', 'temperror'].includes(spf.result), [...passing, ...undecided])).result === 'pass'
  return { sender_verified: is_unknown ? null : false, authentication }
}

/**
 * True when the library that judges From reads other addresses there than the parser of tickets: then what is shown is
 * not what was checked. Several authors of one domain are read alike.
 */
function isReadDifferently(from: string | null, { from: read, from_fields }: Signatures): boolean {
  if (read === null) return false
  if (from === null) return read.length > 0
  const key = addressKey(from)
  const [first, ...others] = read.map(addressKey)
  const domain = key.slice(key.lastIndexOf('@'))
  return from_fields > 1 || first !== key || !others.every((other) => other.endsWith(domain))
}
