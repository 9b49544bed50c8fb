/** Makes and reads DKIM keys of mailboxes (RFC 6376). RSA only, because every receiver verifies it. */
import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'

const NEW_BITS = 2048
/** Receivers ignore signatures of shorter keys (RFC 8301). */
const MIN_BITS = 1024
/** Few receivers verify longer keys, and a signature with them costs tens of milliseconds. */
const MAX_BITS = 4096

const PRIVATE_PEM = { type: 'pkcs8', format: 'pem' } as const

/** Makes a private key as PEM (PKCS #8). */
export async function newDkimKey(): Promise<string> {
  const { privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: NEW_BITS })
  return privateKey.export(PRIVATE_PEM).toString()
}

/**
 * Reads a private key and gives it in the form of `newDkimKey`; undefined when it is not an RSA key of 1024 to 4096
 * bits without a passphrase.
 */
export function readDkimKey(pem: string): string | undefined {
  const key = parse(pem)
  const bits = key?.asymmetricKeyType === 'rsa' ? (key.asymmetricKeyDetails?.modulusLength ?? 0) : 0
  return bits >= MIN_BITS && bits <= MAX_BITS ? key?.export(PRIVATE_PEM).toString() : undefined
}

/** Makes the TXT record by which receivers find the public key. */
export function dkimRecord(domain: string, selector: string, private_key: string): { name: string; value: string } {
  const der = createPublicKey(private_key).export({ type: 'spki', format: 'der' })
  return { name: `${selector}._domainkey.${domain}`, value: `v=DKIM1; k=rsa; p=${der.toString('base64')}` }
}

function parse(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem)
  } catch {
    return undefined
  }
}
