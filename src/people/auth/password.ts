/** Hashes and checks passwords with argon2id: 19 MiB of memory and 2 passes, the least that OWASP advises. */
import { randomBytes } from 'node:crypto'
import { codePoints } from '../../base/address/characters'
import { ApiError } from '../../base/errors'
import { turns } from '../../base/flow/turns'
import { subscriberOf } from '../../base/net/client-address'
import { hashOf, isHashOf } from '../../base/runtime/password-hash'

const MEMORY_KIB = 19 * 1024
const PASSES = 2
/** Hashes at a time: each takes 19 MiB, a processor, and one of the threads that read and write files. */
const AT_ONCE = 2
/** Hashes that are asked for and not done: of all, and of one who asks. Two hundred take some five seconds. */
const MOST = 200
const MOST_OF_ONE = 50
const RETRY_AFTER_S = 2

const inTurn = turns(AT_ONCE)
const asked = new Map<string, number>()
let asked_by_all = 0

/** Lets few hash at a time; those who ask take turns. @throws SERVICE_UNAVAILABLE when too much is asked for already */
async function gated<T>(who: string, work: () => Promise<T>): Promise<T> {
  // A network of one subscriber has many addresses.
  const asker = subscriberOf(who)
  const own = asked.get(asker) ?? 0
  if (asked_by_all >= MOST || own >= MOST_OF_ONE) {
    const reason = 'Too many passwords are checked at the same time'
    throw new ApiError('SERVICE_UNAVAILABLE', { reason }, undefined, RETRY_AFTER_S)
  }
  asked.set(asker, own + 1)
  asked_by_all++
  try {
    return await inTurn(work, asker)
  } finally {
    asked_by_all--
    const left = asked.get(asker)! - 1
    if (left > 0) asked.set(asker, left)
    else asked.delete(asker)
  }
}

function hash(password: string): Promise<string> {
  return hashOf(password, MEMORY_KIB, PASSES)
}

/**
 * Returns the hash that is stored of a password.
 * @param asker the address or the organization that asks: each gets its turn
 * @throws SERVICE_UNAVAILABLE when too many are asked for at the same time
 */
export function hashPassword(password: string, asker: string): Promise<string> {
  return gated(asker, () => hash(password))
}

/** Tells if a text can be a new password: 8 to 200 characters. */
export function isPassword(text: string): boolean {
  const length = codePoints(text)
  return length >= 8 && length <= 200
}

let nobody: Promise<string> | undefined

/**
 * Tells if the password is right. Without a hash (unknown email) it takes the same time and answers false, so that
 * the time of an answer does not show which emails have an account.
 * @param asker as for `hashPassword`
 * @throws SERVICE_UNAVAILABLE as `hashPassword`
 */
export function verifyPassword(password: string, known: string | undefined, asker: string): Promise<boolean> {
  return gated(asker, async () => {
    nobody ??= hash('nobody has this password')
    const matches = await isHashOf(password, known ?? (await nobody)).catch(() => false)
    return matches && known !== undefined
  })
}

/** Makes a password of 20 random characters: 120 bits in base64url. */
export function generatedPassword(): string {
  return randomBytes(15).toString('base64url')
}
