/** Starts the continuous backup with the service. */
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { ConfigError, config } from '../../base/config'
import type { ConnectionOptions } from '../../base/db/connection-url'
import { prepareHome } from '../../base/db/embedded/home'
import { withSession } from '../../base/db/session'
import { within } from '../../base/flow/within'
import { log, safeError } from '../../base/log'
import { showBackup } from '../../base/metrics/backup-figures'
import { wordsOf } from './backup-words'
import { FILES } from './chain-manifest'
import { Keeper } from './keeper'
import { ForeignTargetError, type Writer } from './own-target'
import { type BackupState, nameOfService, readState, readVerified } from './state'
import { HEAD, KEY, MANIFEST, PassphraseError } from './vault'
import { WaitingLog } from './waiting-log'

/** Longest wait of a start for the target. A target that is away stops nothing. */
const CLAIM_MS = 10_000

/** Names that a target holds, and those that a file system makes in it. */
const OBJECTS = new Set([MANIFEST, `${MANIFEST}.partial`, HEAD, `${HEAD}.partial`, KEY, 'chains', FILES, 'lost+found'])

/**
 * Starts the backup, when BACKUP_TO is set.
 * @param owner the superuser's connection to the embedded database; undefined for an external one
 * @throws ConfigError when the target is another service's, or the passphrase does not open it
 */
export async function startBackup(
  owner: ConnectionOptions | undefined,
): Promise<{ stop(): Promise<void> } | undefined> {
  if (!config.BACKUP_TO) return undefined
  const state = { ...readState(), service: nameOfService() }
  const home = owner && prepareHome(config.DATA_DIR, 5432)
  const database = owner && home && { owner, home, waiting: await WaitingLog.open(home) }
  const keeper = new Keeper(await readWriter(state.service, owner), state, database)
  try {
    await within(CLAIM_MS, keeper.claim(), 'it does not answer')
  } catch (error) {
    if (isOfOperator(error, state)) throw new ConfigError((error as Error).message)
    log.error({ reason: wordsOf(error) }, 'the backup cannot be written, and is tried again')
  }
  keeper.start()
  showBackup(() => keeper.state, config.BACKUP_VERIFY === 'on' ? () => readVerified() : undefined)
  return keeper
}

/**
 * True for an error of the settings. Who can write to the place ends no start: a key that others may have put there is
 * an error of the place.
 */
function isOfOperator(error: unknown, { place, key_digest }: BackupState): boolean {
  if (error instanceof ForeignTargetError) return true
  return error instanceof PassphraseError && (place !== config.BACKUP_TO || key_digest !== undefined)
}

/** Names this process of the service as the one that writes. */
export async function readWriter(service: string, owner: ConnectionOptions | undefined): Promise<Writer> {
  if (!owner) return { service, writer: service, postgresql: null }
  const [found] = await withSession(
    owner,
    (sql) => sql<{ major: string; system: string }[]>`
    select (current_setting('server_version_num')::int / 10000)::text as major,
      (select system_identifier::text from pg_control_system()) as system`,
  )
  return { service, writer: randomUUID(), postgresql: { ...found! } }
}

/**
 * Makes the folder of BACKUP_TO when the one above it is there: a disk that is not mounted has none.
 * @returns the folder, which must belong to the user of the service
 * @throws ConfigError; for what is in a folder only if it was never written to, because others may be able to
 */
export function prepareTarget(): string | undefined {
  const { BACKUP_TO, DATA_DIR } = config
  if (!BACKUP_TO || BACKUP_TO.startsWith('s3://')) return undefined
  const [place, data] = [pathInBackup(BACKUP_TO), pathInBackup(DATA_DIR)]
  if (isIn(place, data) || isIn(data, place)) {
    throw new ConfigError(`BACKUP_TO ${BACKUP_TO} and DATA_DIR are one folder, or one is in the other: name another`)
  }
  const found = fs.statSync(BACKUP_TO, { throwIfNoEntry: false })
  if (readState()?.place === BACKUP_TO) return found?.isDirectory() ? BACKUP_TO : undefined
  if (found && !found.isDirectory()) throw new ConfigError(`BACKUP_TO ${BACKUP_TO} is no folder`)
  if (!found && fs.existsSync(path.dirname(BACKUP_TO))) make(BACKUP_TO)
  if (!fs.existsSync(BACKUP_TO)) return undefined
  refuseOthersFiles(BACKUP_TO)
  return BACKUP_TO
}

/** Where a path leads, also when its end is not there yet. */
function pathInBackup(file: string): string {
  return fs.existsSync(file) ? fs.realpathSync(file) : path.join(pathInBackup(path.dirname(file)), path.basename(file))
}

function isIn(place: string, folder: string): boolean {
  return `${place}/`.startsWith(`${folder}/`)
}

function make(folder: string): void {
  try {
    fs.mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    throw new ConfigError(`BACKUP_TO ${folder} cannot be made: ${safeError(error).code}`)
  }
}

/** Root gives the folder, with all that is in it, to the user of the service. @throws ConfigError for other files */
function refuseOthersFiles(folder: string): void {
  try {
    const entries = fs.readdirSync(folder)
    const other = entries.find((entry) => !OBJECTS.has(entry) && !entry.startsWith(`${KEY}.`))
    if (!other || entries.includes(MANIFEST)) return
    throw new ConfigError(`BACKUP_TO ${folder} holds other files, such as ${other}: name an empty folder`)
  } catch (error) {
    // Deeds that this user cannot do in it are reported where they are tried.
    if (error instanceof ConfigError) throw error
  }
}
