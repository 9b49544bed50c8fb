/** The operator's commands for the continuous backup, and `restore`, which knows both kinds of backups. */
import fs from 'node:fs'
import path from 'node:path'
import { config } from '../../base/config'
import { useSecrets } from '../../base/secrets'
import { timeOf } from '../../base/shapes/time'
import { BackupError, explained } from '../backup/backup-error'
import { checkBackup, restore } from '../backup/restore'
import { presentKeys } from '../backup/secret-keys'
import { type Command, type Options, UsageError } from '../start/command-line'
import { openAsItIs } from '../start/database'
import { dropRoot } from '../start/drop-root'
import { backupStatus, isBehind } from './backup-status'
import { adoptTarget, openOwnVault, refuseLiving } from './own-target'
import { restoreChain } from './restore-chain'
import { prepareTarget, readWriter } from './start-backup'
import { nameOfService, writeState } from './state'
import { isBucket } from './target'
import { MANIFEST } from './vault'
import { verifyBackup } from './verify'

export const CONTINUOUS_COMMANDS: Command[] = [
  {
    name: 'backup status',
    meaning:
      'Prints how the continuous backup is. Ends with 1 when it has faults, or is older than twice BACKUP_LAG_SECONDS. A folder of this name is ./status.',
    needs: 'nothing',
    run: status,
  },
  {
    name: 'backup verify',
    options: '[--until TIME]',
    meaning: 'Restores the continuous backup beside the service, reads every row and every file, and removes it again.',
    needs: 'nothing',
    async run({ until }) {
      await enter()
      return verifyBackup(momentOf(until))
    },
  },
  {
    name: 'backup adopt',
    options: '[--yes]',
    meaning:
      'Gives BACKUP_TO to this service, which was restored from it. It begins with a new copy of the database. --yes takes it from a service that wrote to it a short time ago.',
    needs: 'nothing',
    run: adopt,
  },
  {
    name: 'restore',
    options: 'SOURCE [--until TIME] [--numbers-from N] [--check] [--unproven]',
    meaning:
      'Restores a backup, a folder or s3://bucket/prefix, into an empty database and DATA_DIR: a continuous one to its last moment, or to TIME. New tickets get numbers behind N, else a gap of 1,000 is left. --check only reads a backup that was made by the command backup. --unproven takes one of a release until 0.2, which anybody may have changed who can write to it.',
    needs: 'nothing',
    run: restoreAny,
  },
]

async function status(): Promise<unknown> {
  await enter()
  const found = await backupStatus()
  if (isBehind(found) || found.faults.length > 0) process.exitCode = 1
  return found
}

async function adopt(options: Options): Promise<unknown> {
  await enter()
  const { target, close } = await openAsItIs('refuse')
  try {
    useSecrets(...presentKeys())
    const state = { service: nameOfService(), place: config.BACKUP_TO! }
    const vault = await openOwnVault('begin')
    if (!options.yes) await refuseLiving(vault, state.service)
    const writer = await readWriter(state.service, typeof target === 'string' ? undefined : target)
    const { generation } = await adoptTarget(vault, writer)
    writeState({ ...state, generation, key_digest: vault.key_digest })
    return { adopted: config.BACKUP_TO }
  } catch (error) {
    throw explained(error, 'the adoption')
  } finally {
    await close()
  }
}

/** Becomes the user of the service. @throws UsageError without BACKUP_TO */
async function enter(): Promise<void> {
  if (!config.BACKUP_TO) throw new UsageError('BACKUP_TO is not set: there is no continuous backup')
  await dropRoot('refuse', config, prepareTarget())
}

async function restoreAny(options: Options): Promise<unknown> {
  const source = String(options.source)
  const until_ms = momentOf(options.until)
  const numbers_from = lastNumber(options)
  const is_unproven = options.unproven === true
  if (isBucket(source) || fs.existsSync(path.join(source, MANIFEST))) {
    if (options.check) throw new UsageError('--check is for a backup of the command backup: run backup verify')
    return restoreChain(isBucket(source) ? source : path.resolve(source), { until_ms, numbers_from, is_unproven })
  }
  if (until_ms !== undefined)
    throw new BackupError(`${source} is no continuous backup: it has one moment, without --until`)
  return options.check ? checkBackup(source) : restore(source, numbers_from, is_unproven)
}

/** @throws UsageError when --until is no time */
function momentOf(text: Options[string]): number | undefined {
  if (text === undefined) return undefined
  const time = timeOf(String(text))
  if (time === undefined) throw new UsageError('--until must be a time with offset, such as 2026-01-31T08:00:00Z')
  return time
}

/** @throws UsageError when --numbers-from is no ticket number */
function lastNumber({ 'numbers-from': text }: Options): number | undefined {
  if (text === undefined) return undefined
  if (!/^\d{1,7}$/.test(String(text))) throw new UsageError('--numbers-from must be a number from 0 to 9999999')
  return Number(text)
}
