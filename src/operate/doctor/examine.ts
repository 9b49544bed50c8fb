/** Runs all checks beside each other, each with a time limit, also when the database is away. */
import { config } from '../../base/config'
import type { Connection } from '../../base/db/transact'
import { OperatorError } from '../../base/errors'
import { within } from '../../base/flow/within'
import { safeError } from '../../base/log'
import { UnfinishedRestoreError } from '../start/data-dir'
import { checkAccounts } from './account-doubts'
import { checkCluster } from './cluster-state'
import { checkContinuousBackup, checkHeldOutbox, checkMailIsKept } from './continuous-backup'
import { checkClock, checkRole, checkServer } from './database-server'
import { checkDisk } from './disk-space'
import { checkBackupAge, checkDurability, checkSecretFile } from './durability'
import { type Figures, readFigures } from './figures'
import { type Check, type Finding, failure } from './finding'
import { checkMailDns } from './mail-dns'
import { checkMailName } from './mail-name'
import { checkLetterWay, checkMailboxServers, checkSystemServer } from './mail-servers'
import { checkMailboxFaults } from './mailbox-faults'
import { checkObjectStore } from './object-store'
import { checkService } from './own-service'
import { checkLimits } from './process-limits'
import { checkRedis } from './redis'
import { checkRelays } from './relay-doubts'
import { checkScanner, checkSpamJudge } from './scanner'
import { checkSchema } from './schema-state'
import { checkMailboxDomains, checkProcesses, checkSettingsAlone } from './settings-fit'
import { checkStoredSecrets } from './stored-secrets'
import { checkWaitingWork } from './waiting-work'
import { checkWebhooks } from './webhook-health'

/** The doctor ends within the sum of both, and a moment. */
const OPEN_MS = 4500
const CHECK_MS = 4500

/** In the order in which the report shows them. */
const CHECKS: Check[] = [
  { name: 'disk', needs: 'nothing', run: checkDisk },
  { name: 'limits', needs: 'nothing', run: () => checkLimits() },
  { name: 'store', needs: 'nothing', run: checkObjectStore },
  { name: 'redis', needs: 'nothing', run: checkRedis },
  { name: 'scanner', needs: 'nothing', run: checkScanner },
  { name: 'spam', needs: 'nothing', run: checkSpamJudge },
  { name: 'system mail', needs: 'nothing', run: checkSystemServer },
  { name: 'settings', needs: 'nothing', run: checkSettingsAlone },
  { name: 'key file', needs: 'nothing', run: checkSecretFile },
  { name: 'backup', needs: 'nothing', run: checkBackupAge },
  { name: 'continuous backup', needs: 'nothing', run: checkContinuousBackup },
  { name: 'held outbox', needs: 'nothing', run: checkHeldOutbox },
  { name: 'server', needs: 'database', run: checkServer },
  { name: 'durability', needs: 'database', run: checkDurability },
  { name: 'kept mail', needs: 'database', run: checkMailIsKept },
  { name: 'role', needs: 'database', run: checkRole },
  { name: 'cluster', needs: 'database', run: checkCluster },
  { name: 'clock', needs: 'database', run: checkClock },
  { name: 'secret key', needs: 'database', run: checkStoredSecrets },
  { name: 'service', needs: 'database', run: checkService },
  { name: 'processes', needs: 'database', run: checkProcesses },
  { name: 'work', needs: 'database', run: checkWaitingWork },
  { name: 'webhooks', needs: 'database', run: checkWebhooks },
  { name: 'mailbox servers', needs: 'database', run: checkMailboxServers },
  { name: 'waiting mail', needs: 'database', run: checkMailboxFaults },
  { name: 'mail domains', needs: 'database', run: checkMailboxDomains },
  { name: 'mail name', needs: 'database', run: checkMailName },
  { name: 'dns', needs: 'database', run: checkMailDns },
  { name: 'relays', needs: 'database', run: checkRelays },
  { name: 'invitations', needs: 'database', run: checkLetterWay },
  { name: 'accounts', needs: 'database', run: checkAccounts },
]

type Named = Finding & { check: string }

export type Report = {
  /** The worst level of all findings. */
  status: 'ok' | 'warning' | 'error'
  findings: Named[]
  /** Checks that found nothing. */
  passed: string[]
  /** Checks that could not be made. */
  skipped: string[]
} & Partial<Figures>

type Result = { name: string; findings: Finding[] | 'skipped' }

/**
 * Examines the service.
 * @param opening the connection; its rejection is a finding
 * @param before checks that were made already
 */
export async function examine(opening: Promise<Connection>, before: Result[] = []): Promise<Report> {
  const database = openDatabase(opening)
  const results = CHECKS.map(async (check): Promise<Result> => {
    if (check.needs === 'nothing') return limited(check.name, check.run())
    const { connection } = await database
    if (!connection) return { name: check.name, findings: 'skipped' }
    return limited(check.name, check.run(connection))
  })
  const figures = database.then(
    (
      { connection }, // Checks say why figures cannot be read.
    ) => connection && within(CHECK_MS, readFigures(connection), 'late').catch(() => undefined),
  )
  const opened = await database
  const all = [...before, { name: 'database', findings: opened.findings }, ...(await Promise.all(results))]
  return { ...summary(all), ...(await figures) }
}

/** A database whose schema is not that of this release is not asked more: it may lack tables. */
async function openDatabase(opening: Promise<Connection>): Promise<{ connection?: Connection; findings: Finding[] }> {
  try {
    const connection = await within(OPEN_MS, opening, `it does not answer within ${OPEN_MS / 1000} s`)
    const findings = await within(CHECK_MS, checkSchema(connection), 'it does not answer')
    return { findings, ...(findings.length === 0 && { connection }) }
  } catch (error) {
    return { findings: [whyClosed(error)] }
  }
}

/** PostgreSQL's code of a connection that is one too many. */
const NO_CONNECTION_LEFT = '53300'

function hasCode(error: unknown, code: string): boolean {
  if (!(error instanceof Error)) return false
  return ('code' in error && error.code === code) || hasCode(error.cause, code)
}

function whyClosed(error: unknown): Finding {
  if (error instanceof UnfinishedRestoreError) {
    return failure(
      `A restore into DATA_DIR ${config.DATA_DIR} has not ended. The service does not start on what it left`,
      'If no restore is at work, run the same one again: it begins anew.',
    )
  }
  const why = error instanceof OperatorError ? error.message : failureText(error)
  if (hasCode(error, NO_CONNECTION_LEFT)) {
    return failure(
      'All connections of the database server, of this database or of its role are in use: requests are answered 503',
      'See in pg_stat_activity whose they are: a superuser gets in. End those that nobody needs, lower DATABASE_POOL of the processes, or raise max_connections, or the limit of the role or the database.',
      { code: NO_CONNECTION_LEFT },
    )
  }
  return failure(
    `The database cannot be used: ${why}. Nothing works without it`,
    'Start the database, or correct DATABASE_URL or DATA_DIR. The service connects by itself when it is back.',
  )
}

async function limited(name: string, work: Promise<Finding[]>): Promise<Result> {
  try {
    return { name, findings: await within(CHECK_MS, work, `no answer within ${CHECK_MS / 1000} s`) }
  } catch (error) {
    const message = `This could not be looked at: ${failureText(error)}`
    return {
      name,
      findings: [failure(message, 'See if the database and the network are slow, and run the doctor again.')],
    }
  }
}

function failureText(error: unknown): string {
  const { name, code, message, cause } = safeError(error)
  return String(message ?? code ?? (cause ? failureText((error as Error).cause) : name))
}

function summary(results: Result[]): Pick<Report, 'status' | 'findings' | 'passed' | 'skipped'> {
  const findings = results.flatMap(({ name, findings }): Named[] =>
    findings === 'skipped' ? [] : findings.map(({ level, ...rest }) => ({ level, check: name, ...rest })),
  )
  const has = (level: Finding['level']) => findings.some((finding) => finding.level === level)
  return {
    status: has('error') ? 'error' : has('warning') ? 'warning' : 'ok',
    findings: [
      ...findings.filter(({ level }) => level === 'error'),
      ...findings.filter(({ level }) => level === 'warning'),
    ],
    passed: results.filter(({ findings }) => findings.length === 0).map(({ name }) => name),
    skipped: results.filter(({ findings }) => findings === 'skipped').map(({ name }) => name),
  }
}
