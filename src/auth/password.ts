/** Passwords (argon2id). */
import { randomBytes } from 'node:crypto'

/** The hash to store. */
export function hashPassword(password: string): Promise<string> {
  return Bun.password.hash(password, { algorithm: 'argon2id', memoryCost: 19_456, timeCost: 2 })
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

/** A password that nobody chose: 120 random bits as 20 characters of base64url. */
export function generatedPassword(): string {
  return randomBytes(15).toString('base64url')
}
