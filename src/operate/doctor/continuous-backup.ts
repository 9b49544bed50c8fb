/** Looks at the continuous backup, and at the outbox of a service that was restored. */
import { config } from '../../base/config'
import type { Connection } from '../../base/db/transact'
import { outboxWaits } from '../../delivery/outbox/hold'
import { fullWords, unprovenWords } from '../continuous/backup-words'
import { readState, readVerified } from '../continuous/state'
import { counted, type Finding, failure, warning } from './finding'

/** The backup is verified every 6 days by itself. */
const VERIFIED_MOST_DAYS = 10
const DAY_MS = 86_400_000

/** Looks at what the service notes of its backup. */
export async function checkContinuousBackup(): Promise<Finding[]> {
  return config.BACKUP_TO ? [...(await checkRoom()), ...checkState(), ...checkVerified()] : []
}

async function checkRoom(): Promise<Finding[]> {
  const words = await fullWords()
  if (!words) return []
  const action =
    'Free space there, or give it a larger disk. A shorter BACKUP_KEEP_DAYS frees some with the next base copy.'
  return [failure(`The continuous backup cannot be written: ${words}`, action)]
}

function checkState(): Finding[] {
  const state = readState()
  const action = 'Run bun run cli backup status, and see that BACKUP_TO can be reached and written to.'
  if (!state) {
    return [warning('There is no continuous backup yet: the service has not run with BACKUP_TO', 'Start the service.')]
  }
  const { covered_until, error, failing_since, given_up_at, given_up_why, is_unproven, missing_files = 0 } = state
  const behind_s = covered_until ? Math.round((Date.now() - Date.parse(covered_until)) / 1000) : undefined
  const why = error ? `: ${error}` : ''
  const findings: Finding[] = []
  if (behind_s === undefined)
    findings.push(failure(`The continuous backup has no complete copy of the data${why}`, action))
  else if (behind_s > 2 * config.BACKUP_LAG_SECONDS) {
    const message = `The continuous backup is ${counted(behind_s, 'second')} old: what came since is lost with this machine${why}`
    findings.push(failure(message, action, { covered_until }))
  } else if (failing_since) {
    findings.push(warning(`The backup has failed since ${failing_since}${why}`, action))
  }
  if (given_up_at) {
    const message = `The log was given up at ${given_up_at}, because ${given_up_why}: moments since then cannot be restored until there is a new base copy`
    findings.push(failure(message, action))
  }
  const unproven = unprovenWords(is_unproven)
  if (unproven) {
    const message = `${unproven[0]!.toUpperCase()}${unproven.slice(1)}`
    findings.push(warning(message, 'Let the service run: it makes one at once. See src/guide/backup.md.'))
  }
  if (missing_files > 0) {
    const message = `${counted(missing_files, 'stored file')} could not be backed up, because the store does not have them`
    findings.push(
      warning(message, 'The lines "a stored file is missing" of the log name them. Restore them from an older backup.'),
    )
  }
  return findings
}

function checkVerified(): Finding[] {
  const verified = readVerified()
  if (verified?.fault) {
    const message = `The last look at the whole backup failed: ${verified.fault}. It may not be good for a restore`
    return [failure(message, 'Mend what is named, and run bun run cli backup verify.', { at: verified.at })]
  }
  if (config.BACKUP_VERIFY === 'off' || !readState()?.last_base) return []
  const days = verified && Math.floor((Date.now() - Date.parse(verified.at)) / DAY_MS)
  if (days !== undefined && days < VERIFIED_MOST_DAYS) return []
  const message =
    days === undefined ? 'The backup was never verified' : `The backup was verified ${counted(days, 'day')} ago`
  return [warning(`${message}: nobody knows if it can be restored`, 'Run bun run cli backup verify.')]
}

/** Looks if mail is received without a continuous backup. Who runs PostgreSQL alone has tools of its own. */
export async function checkMailIsKept({ sql }: Connection): Promise<Finding[]> {
  if (config.BACKUP_TO || config.DATABASE_URL) return []
  const received = await sql`select from inbound_messages limit 1`
  if (received.length === 0) return []
  return [
    warning(
      'Mail is received and there is no continuous backup: what was answered with 250 since the last backup is lost with this machine',
      'Set BACKUP_TO to a folder on another disk or to a bucket, as src/guide/backup.md says.',
    ),
  ]
}

/** Looks if the outbox of a restored service waits for a decision. */
export async function checkHeldOutbox(): Promise<Finding[]> {
  if (!outboxWaits()) return []
  return [
    failure(
      'This service was restored and sends nothing: webhooks, emails and letters wait, because the lost service may have sent them already',
      'Look with bun run cli outbox stats, then run bun run cli outbox resume.',
    ),
  ]
}
