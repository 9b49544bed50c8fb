/**
 * Hashes passwords with argon2id, on a thread beside the program, and compares them with a hash in the PHC form.
 * Standard twin: `argon2` of `node:crypto` (Node 24.7), which takes the same time and leaves the form to the program.
 */

/** The hash of a password, with what was used to make it. @param memory_kib of memory for `passes` over it */
export function hashOf(password: string, memory_kib: number, passes: number): Promise<string> {
  return Bun.password.hash(password, { algorithm: 'argon2id', memoryCost: memory_kib, timeCost: passes })
}

/** Tells if a hash is that of a password. Rejects for a text that is no hash. */
export function isHashOf(password: string, hash: string): Promise<boolean> {
  return Bun.password.verify(password, hash)
}
