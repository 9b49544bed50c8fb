/**
 * Checks who wrote a message: SPF (RFC 7208), DKIM (RFC 6376), ARC (RFC 8617) and, by them, DMARC (RFC 9989, before
 * 7489) for the domain of From. What a trusted relay found out counts instead, when it says so.
 *
 * mailauth does the checks. Its parts are imported with the first message: they take 33 MB and 0.2 s, which commands of
 * the operator do not need. Its main module would take three times as much, for what is not used here.
 */
import { toDomain } from '../../base/address/domains'
import { addressKey } from '../../base/address/email'
import { config } from '../../base/config'
import { log, safeError } from '../../base/log'
import { headerBlock, splitHeader } from '../../base/mime/headers'
import { lookupFor, type RecordLookup, reachesOtherNames } from '../../base/net/dns'
import { type Delivery, findHandover } from './client'
import { once } from './once'
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

/** All checks of one message together: the record of DMARC first, then what is aligned with From. */
const LIMIT_MS = 5000
/** Lookups for domains that are not aligned with From, whose DNS its sender may run. They decide nothing. */
const OTHERS_LIMIT_MS = 2500
/** Reading the body ends earlier: mail that takes long must not keep the policy of its domain from being looked up. */
const BODY_LIMIT_MS = 3000
/** Bytes of a message in which its header is read. */
const MAX_HEADER_BYTES = 262_144

/**
 * The proven part of what the sender wrote: the whole message, which a server of the domain of From sent here, or the
 * fields that each signature of that domain covers. Whoever got a signed message can add others and send it on.
 */
export type Proof = 'whole message' | string[][]

type SenderVerdict = Judgement & {
  proof: Proof
  /** True when a lookup that decides failed for a passing reason: another check later may tell. */
  is_undecided: boolean
}

const UNKNOWN: SenderVerdict = {
  sender_verified: null,
  authentication: { spf: 'none', dkim: 'none', dmarc: 'none', arc: 'none' },
  proof: [],
  is_undecided: true,
}

// An import takes 50 microseconds each time, also of a module that is there.
const importSpf = once(() => import('mailauth/lib/spf'))
const importDmarc = once(() => import('mailauth/lib/dmarc'))

/**
 * Checks a message in some 5 seconds. Never rejects: what cannot be looked up is `temperror`. Without DNS the sender is
 * then neither proven nor forged; a passing fault of one domain leaves the message undecided.
 */
export async function checkSender(question: SenderQuestion): Promise<SenderVerdict> {
  try {
    return await judge(question)
  } catch (error) {
    log.error({ error: safeError(error) }, 'the sender of an email cannot be checked')
    return UNKNOWN
  }
}

async function judge({ raw, from, envelope_sender, delivery }: SenderQuestion): Promise<SenderVerdict> {
  const fields = splitHeader(headerBlock(raw.subarray(0, MAX_HEADER_BYTES)))
  const handover = delivery && findHandover(delivery, fields)
  const client = handover?.client ?? null
  const domain = from === null ? undefined : toDomain(from.slice(from.lastIndexOf('@') + 1))
  const trusted = handover?.is_relayed ? readTrustedResults(fields, domain) : null
  const lookup = lookupFor(LIMIT_MS)
  const others = lookupFor(OTHERS_LIMIT_MS)
  const alignment = domain && !trusted ? findAlignment(domain, lookup) : { ...RELAXED, organization: domain ?? '' }
  const lookupOf = async (name: string) => (isWithin(name, (await alignment).organization) ? lookup : others)
  const [spf, signatures] = await Promise.all([
    client ? checkSpf(client, envelope_sender ?? '', byFirstName(lookupOf)) : NO_SPF,
    readSignatures(raw, async (name, type) => (await lookupOf(name))(name, type), BODY_LIMIT_MS),
  ])
  // The relay found a signature valid that covers less than what is shown.
  const believed = signatures.is_extended ? null : trusted
  const found = believed
    ? { ...believed.judgement, is_undecided: false }
    : await checkDmarc(domain, spf, signatures, lookup)
  if (isReadDifferently(from, signatures)) return { ...found, sender_verified: false, proof: [], is_undecided: false }
  const sent = believed ? believed.spf_domain : spf.result === 'pass' ? spf.domain : undefined
  return { ...found, proof: domain ? proofOf(domain, await alignment, sent, signatures) : [] }
}

/** Which domains speak for From: those of its organization, as far as it is known, or From's alone (strict). */
type Alignment = { organization: string; is_spf_strict: boolean; is_dkim_strict: boolean }

const RELAXED = { is_spf_strict: false, is_dkim_strict: false }

/** @param sent the domain that SPF has proven */
function proofOf(
  from: string,
  { organization, is_spf_strict, is_dkim_strict }: Alignment,
  sent: string | undefined,
  { passing }: Signatures,
): Proof {
  const isAligned = (domain: string, is_strict: boolean) =>
    is_strict ? domain.toLowerCase() === from : isWithin(domain, organization)
  if (sent && isAligned(sent, is_spf_strict)) return 'whole message'
  return passing.filter(({ domain }) => isAligned(domain, is_dkim_strict)).map(({ fields }) => fields)
}

/** Asking for it also reads the policy, before anything else is asked. */
async function findAlignment(domain: string, lookup: RecordLookup): Promise<Alignment> {
  const found = await evaluate(domain, [], lookup).catch(() => undefined)
  return found?.alignment ?? { ...RELAXED, organization: domain }
}

/**
 * True for domains that are equal, or that belong to one organization by their DNS records (RFC 9989). Never rejects,
 * and takes at most 5 seconds.
 */
export async function shareOrganization(one: string, other: string): Promise<boolean> {
  if (one === other) return true
  if (topOf(one) !== topOf(other)) return false
  const lookup = lookupFor(LIMIT_MS)
  const [first, second] = await Promise.all([findAlignment(one, lookup), findAlignment(other, lookup)])
  return first.organization === second.organization
}

function topOf(domain: string): string {
  return domain.slice(domain.lastIndexOf('.') + 1)
}

/** True for a domain and the names below it. */
function isWithin(name: string, domain: string): boolean {
  return `.${name.toLowerCase()}`.endsWith(`.${domain}`)
}

/** Makes a lookup of all names that follow from the first one. */
function byFirstName(lookupOf: (name: string) => Promise<RecordLookup>): RecordLookup {
  let found: Promise<RecordLookup> | undefined
  return async (name, type) => {
    found ??= lookupOf(name)
    return (await found)(name, type)
  }
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
): Promise<Omit<SenderVerdict, 'proof'>> {
  const authentication = { spf: spf.result, dkim, dmarc: 'none' as Result, arc }
  if (!domain) return { sender_verified: null, authentication, is_undecided: false }
  const spfThat = (...results: Result[]) => (results.includes(spf.result) ? [spf.domain] : [])
  const signed = passing.map(({ domain }) => domain)
  const { result, policy } = await evaluate(domain, signed, lookup, spfThat('pass'))
  authentication.dmarc = result
  const best =
    result === 'fail'
      ? (await evaluate(domain, [...signed, ...undecided], lookup, spfThat('pass', 'temperror'))).result
      : result
  const is_unknown = best !== result || result === 'temperror'
  return {
    sender_verified: is_unknown || (result === 'fail' && spf === NO_SPF) ? null : verdictOf(result, policy),
    authentication,
    is_undecided: is_unknown && (await reachesOtherNames()),
  }
}

/** Evaluates DMARC for domains that SPF or DKIM have proven. */
async function evaluate(domain: string, signed: string[], lookup: RecordLookup, sent: string[] = []) {
  const { dmarc } = await importDmarc()
  const found = await dmarc({
    headerFrom: domain,
    spfDomains: sent,
    dkimDomains: signed.map((one) => ({ domain: one })),
    resolver: lookup,
  })
  if (!found) return { result: 'none' as const, policy: undefined, alignment: { ...RELAXED, organization: domain } }
  const alignment = {
    organization: found.domain ?? domain,
    is_spf_strict: found.alignment?.spf.strict ?? false,
    is_dkim_strict: found.alignment?.dkim.strict ?? false,
  }
  return { result: resultOf(found.status.result), policy: found.policy, alignment }
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
