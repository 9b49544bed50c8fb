/** Hashes and checks passwords with argon2id: 19 MiB of memory and 2 passes, the least that OWASP advises. */
import { randomBytes } from 'node:crypto'
import { codePoints } from '../../base/address/characters'

/** Returns the hash that is stored of a password. */
export function hashPassword(password: string): Promise<string> {
  return Bun.password.hash(password, { algorithm: 'argon2id', memoryCost: 19_456, timeCost: 2 })
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
 */
export async function verifyPassword(password: string, hash: string | undefined): Promise<boolean> {
  nobody ??= hashPassword('nobody has this password')
  const matches = await Bun.password.verify(password, hash ?? (await nobody)).catch(() => false)
  return matches && hash !== undefined
}

/** Makes a password of 20 random characters: 120 bits in base64url. */
export function generatedPassword(): string {
  return randomBytes(15).toString('base64url')
}
