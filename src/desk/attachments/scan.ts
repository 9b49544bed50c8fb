/**
 * Lets clamd look at files (`CLAMD_HOST`): when they come, or later by a job. What clamd has not seen waits for it, and
 * neither that nor what is infected is handed out or sent.
 */
import { LRUCache } from 'lru-cache'
import { config } from '../../base/config'
import type { SCANS } from '../../base/db/schema'
import { visit } from '../../base/db/sweep'
import type { Connection } from '../../base/db/transact'
import { ApiError } from '../../base/errors'
import { turns } from '../../base/flow/turns'
import { log, safeError } from '../../base/log'
import { countScan } from '../../base/metrics/scans'
import { askClamd, ClamdAnswerError } from './clamd'
import { storage } from './storage'
import type { Bytes } from './store'

export type Scan = (typeof SCANS)[number]

/** A request or a mail waits no longer for a verdict. */
const ASK_MS = 10_000
/** The job does: clamd itself ends a scan after 120 seconds (`MaxScanTime`). */
const JOB_ASK_MS = 130_000
/** A run of the job begins no scan after that. */
const RUN_MS = 20_000
/** Scans of this process at a time: clamd has 10 threads. */
const SCANS_AT_ONCE = 8
const BATCH = 20
/** A clamd that did not answer is not asked for this time: no mail waits for it again and again. */
const QUIET_MS = 10_000
const RETRY_AFTER_S = 30

const inTurn = turns(SCANS_AT_ONCE)
const away = new LRUCache<string, true>({ max: 10, ttl: QUIET_MS })
/** The log says so once in a minute. */
const told = new LRUCache<string, true>({ max: 10, ttl: 60_000 })

/**
 * Asks for a verdict on a file that has come.
 * @param open gives the bytes
 * @param size how many they are
 * @returns null without a scanner; `pending` without a verdict in 10 seconds
 * @throws what `open` throws
 */
export async function scanNow(open: () => Bytes | Promise<Bytes>, size: number): Promise<Scan | null> {
  const host = config.CLAMD_HOST
  if (!host) return null
  const end_ms = performance.now() + ASK_MS
  return inTurn(async () => {
    const left_ms = end_ms - performance.now()
    if (left_ms <= 0 || away.has(host)) return 'pending'
    const bytes = await open()
    try {
      const verdict = await askClamd(host, { bytes, size }, left_ms)
      countScan(verdict)
      return verdict
    } catch (error) {
      noteFault(host, error)
      return 'pending'
    }
  })
}

/**
 * Refuses what must not be handed out.
 * @throws ATTACHMENT_INFECTED; SERVICE_UNAVAILABLE while it waits for the scanner
 */
export function requireClean(scan: Scan | null): void {
  if (scan === 'infected') throw new ApiError('ATTACHMENT_INFECTED')
  if (waitsForScan(scan)) {
    const reason = 'The file has not been scanned for viruses yet'
    throw new ApiError('SERVICE_UNAVAILABLE', { reason }, undefined, RETRY_AFTER_S)
  }
}

/** Without a scanner nothing waits for it. */
export function waitsForScan(scan: Scan | null): boolean {
  return scan === 'pending' && Boolean(config.CLAMD_HOST)
}

/** Scans files that wait, of all organizations, for some 20 seconds. Ends when clamd is away. */
export async function scanPending(connection: Connection): Promise<void> {
  if (!config.CLAMD_HOST) return
  const run = { host: config.CLAMD_HOST, end_ms: performance.now() + RUN_MS, is_away: false }
  await visit(connection, { table: 'attachments', is_old: connection.sql`scan = 'pending'` }, (organization_id) =>
    scanOwn(connection, organization_id, run),
  )
}

type Waiting = { id: string; storage_key: string; size: number }
type Verdict = { id: string; scan: Scan }
type Run = { host: string; end_ms: number; is_away: boolean }

async function scanOwn(connection: Connection, organization_id: string, run: Run): Promise<void> {
  let after = '00000000-0000-0000-0000-000000000000'
  while (!run.is_away && performance.now() < run.end_ms) {
    const files = await connection.sql<Waiting[]>`
      select id, storage_key, size from attachments
      where organization_id = ${organization_id} and scan = 'pending' and id > ${after} order by id limit ${BATCH}`
    const verdicts: Verdict[] = []
    for (const file of files) {
      if (run.is_away || performance.now() >= run.end_ms) break
      const scan = await inTurn(() => scanStored(file, run), organization_id)
      if (scan) verdicts.push({ id: file.id, scan })
    }
    await writeVerdicts(connection, organization_id, verdicts)
    if (files.length < BATCH) return
    after = files.at(-1)!.id
  }
}

/** A file that gets no verdict stops no other, unless clamd is away. */
async function scanStored({ storage_key, size }: Waiting, run: Run): Promise<Scan | undefined> {
  let bytes: Bytes
  try {
    bytes = await storage().open(storage_key)
  } catch (error) {
    log.warn({ error: safeError(error) }, 'a file that waits for a scan cannot be read')
    return undefined
  }
  try {
    const verdict = await askClamd(run.host, { bytes, size }, JOB_ASK_MS)
    countScan(verdict)
    return verdict
  } catch (error) {
    noteFault(run.host, error)
    if (!(error instanceof ClamdAnswerError)) run.is_away = true
    return undefined
  }
}

async function writeVerdicts({ sql }: Connection, organization_id: string, verdicts: Verdict[]): Promise<void> {
  if (verdicts.length === 0) return
  await sql`
    with given as materialized (
      select * from json_to_recordset(${JSON.stringify(verdicts)}::text::json) as x (id uuid, scan text)
    )
    update attachments a set scan = given.scan from given
    where a.organization_id = ${organization_id} and a.id = given.id and a.scan = 'pending'`
}

function noteFault(host: string, error: unknown): void {
  countScan('failed')
  if (!told.has(host)) log.warn({ error: safeError(error) }, 'clamd gives no verdict, files wait for it')
  told.set(host, true)
  if (!(error instanceof ClamdAnswerError)) away.set(host, true)
}
