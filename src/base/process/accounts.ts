/** OS users: which one the service and its database run as when they are started by root. */
import fs from 'node:fs'

export type OsUser = { uid: number; gid: number }

/** The account that an operator or a package may make for the service. */
const ACCOUNT = 'deskwire'

/**
 * Ids for a machine without that account, where none is added. Linux needs no account to run a process. Debian and
 * systemd leave these ids unused, and they fit into the 65,536 ids of a container.
 */
const SPARE_IDS = [65521, 65522, 65523, 65524, 65525, 65526, 65527, 65528]

type Account = OsUser & { name: string }

/** The user for a new installation that root starts: the account `deskwire`, else an id that no account has. */
export function serviceUser(): OsUser {
  const accounts = readAccounts()
  const own = accounts.find(({ name }) => name === ACCOUNT)
  const id = SPARE_IDS.find((id) => accounts.every(({ uid, gid }) => uid !== id && gid !== id)) ?? SPARE_IDS[0]!
  return own ? { uid: own.uid, gid: own.gid } : { uid: id, gid: id }
}

/** The user that the owner of a folder stands for: the owner, but the service's user in the place of a shared one. */
export function userBehind({ uid, gid }: OsUser): OsUser {
  if (sharedIds().has(uid)) return serviceUser()
  return { uid, gid: gid || (readAccounts().find((account) => account.uid === uid)?.gid ?? uid) }
}

/** The ids of root and of `nobody`, which many daemons run as: files of these change hands. */
export function sharedIds(): ReadonlySet<number> {
  const nobody = readAccounts().filter(({ name }) => name === 'nobody')
  return new Set([0, 65_534, ...nobody.map(({ uid }) => uid)])
}

/** Tells if the system knows a user by name. */
export function hasAccount(uid: number): boolean {
  return readAccounts().some((account) => account.uid === uid)
}

function readAccounts(): Account[] {
  const lines = fs.readFileSync('/etc/passwd', 'utf8').matchAll(/^([^:#]+):[^:]*:(\d+):(\d+):/gm)
  return [...lines].map(([, name, uid, gid]) => ({ name: name!, uid: Number(uid), gid: Number(gid) }))
}
