/** The TXT record that proves a domain: who can publish it controls the domain. */
import { randomBytes } from 'node:crypto'
import { log } from '../../base/log'
import { lookupFor } from '../../base/net/dns'

const LABEL = '_deskwire-challenge'
/**
 * Bytes of a value that nobody guesses. It is public once it is published, but it is good for one organization only.
 */
const RANDOM_BYTES = 20
const LOOKUP_MS = 5000
/** Codes of answers that say that there is no such record. */
const ABSENT = ['ENOTFOUND', 'ENODATA']

/** Makes the value of the record, anew for each organization and domain. */
export function newChallenge(): string {
  return `deskwire-domain-verification=${randomBytes(RANDOM_BYTES).toString('hex')}`
}

/** Names the record of a domain. */
export function recordName(domain: string): string {
  return `${LABEL}.${domain}`
}

/** Reads the values that the domain publishes; undefined when DNS does not answer within 5 seconds. */
export async function readChallenges(domain: string): Promise<string[] | undefined> {
  try {
    const records = await lookupFor(LOOKUP_MS)(recordName(domain), 'TXT')
    // A long text is published in parts.
    return records.map((parts) => [parts].flat().join('').trim())
  } catch (error) {
    const { code = 'ETIMEOUT' } = error as { code?: string }
    if (ABSENT.includes(code)) return []
    log.warn({ code }, 'the record of a domain could not be read')
    return undefined
  }
}
