/** The lock that the one process running the server of a folder holds. */
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Connection, connectionTo } from './access'
import { OWNER } from './data-directory'
import { EmbeddedError } from './faults'
import { lockFile, lockHolder } from './file-lock'
import { asUser } from './file-user'
import type { Home } from './home'
import { answers, SERVER_WAIT_MS } from './server'

/** A killed predecessor needs a moment until it is gone. One that lives longer stays. */
const OWNER_WAIT_MS = 3_000

/**
 * Takes the lock.
 * @param other_service `join` when a server that another process runs will do
 * @returns the descriptor of the lock; undefined when another process runs the server and it answers
 * @throws EmbeddedError when another process holds the lock
 */
export async function becomeOwner(
  home: Home,
  other_service: 'refuse' | 'join' = 'refuse',
): Promise<number | undefined> {
  const file = path.join(home.dir, 'service.lock')
  const end = Date.now() + (other_service === 'join' ? SERVER_WAIT_MS : OWNER_WAIT_MS)
  const answersOwner = (owner: Connection) => owner.password !== '' && answers(owner)
  do {
    const lock = asUser(home.user, () => lockFile(file))
    if (lock !== undefined) return lock
    if (other_service === 'join' && (await answersOwner(connectionTo(home, OWNER)))) return undefined
    await sleep(20)
  } while (Date.now() < end)
  const holder = asUser(home.user, () => lockHolder(file))
  throw new EmbeddedError(`the database in ${home.dir} is in use by another process (${holder})`)
}
