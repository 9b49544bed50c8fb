/**
 * Works on files with the rights of another OS user, for a service that has to stay root. A folder that belongs to
 * another user may hold a link or a pipe in the place of any file: work there must not have the rights of root.
 */
import type { OsUser } from '../../process/accounts'
import { openLibc } from '../../runtime/libc'

/**
 * Runs `work` with the rights of `user` on files. setfsuid(2) is for the calling thread alone and takes the
 * capabilities over files away until it is set back; the `Sync` functions of node:fs run on that thread. Programs that
 * `work` starts need their own user. Only root changes it, and only Linux has the call.
 * @param work must be synchronous
 */
export function asUser<T>(user: OsUser | undefined, work: () => T): T {
  if (!user || process.getuid?.() !== 0 || process.platform !== 'linux') return work()
  const { setfsuid, setfsgid } = libc()
  // The group first and last: setting it needs root's user id.
  setfsgid(user.gid)
  setfsuid(user.uid)
  try {
    return work()
  } finally {
    setfsuid(0)
    setfsgid(0)
  }
}

let calls: ReturnType<typeof load> | undefined

function libc() {
  calls ??= load()
  return calls
}

function load() {
  return openLibc({ setfsuid: { args: ['u32'], returns: 'i32' }, setfsgid: { args: ['u32'], returns: 'i32' } })
}
