/** Lets a PostgreSQL server replay the log of a backup, and says until when. */
import type { Connection } from '../../base/db/embedded/access'
import type { Settings } from '../../base/db/embedded/data-directory'
import { EmbeddedError } from '../../base/db/embedded/faults'
import { startEmbedded } from '../../base/db/embedded/supervise'
import { withSession } from '../../base/db/session'
import { startProgress } from '../../base/long-work'
import { BackupError } from '../backup/backup-error'
import type { Base } from './chain-manifest'
import { PIECE_BYTES } from './log-pieces'

/** Longest wait for the end of the log. */
const REPLAY_MS = 6 * 3_600_000

/** The words of PostgreSQL when no commit is later than the moment: all of the log was replayed. */
const ENDS_BEFORE = /recovery ended before configured recovery target/

/** PostgreSQL's words when changes that a base copy needs have a later time: its clock was set back meanwhile. */
const STOPS_TOO_EARLY = /requested recovery stop point is before consistent recovery point/

const SETTINGS: Settings = {
  // The pieces are in pg_wal already. The server asks for this in any case.
  restore_command: 'exit 1',
  recovery_target_timeline: 'current',
  recovery_target_action: 'promote',
  // Nobody gets in before the log is replayed.
  hot_standby: 'off',
  // Nothing that was stored in the database runs because somebody signs in.
  event_triggers: 'off',
  archive_mode: 'off',
}

export type Recovered = {
  owner: Connection
  /** Time of the last commit that is there; that of the base copy when none came after it. */
  restored_to: string
  /** All of the log was replayed, and its last commit is before the moment that was asked for. */
  is_all: boolean
  /** Number of the piece of the log in which the replay ended, or of the one behind it. */
  last_number: number
  stop(): Promise<void>
}

/**
 * Starts the server on what `unpackBase` left.
 * @param until_ms ends the replay behind the last commit at or before it
 * @param settings more parameters of the server
 * @throws EmbeddedError
 */
export async function recover(
  data_dir: string,
  base: Base,
  until_ms: number | undefined,
  settings: Settings = {},
): Promise<Recovered> {
  const target: Settings = until_ms === undefined ? {} : { recovery_target_time: timestampOf(until_ms) }
  const start = (more: Settings) =>
    startEmbedded(data_dir, { settings: { ...SETTINGS, ...settings, ...more }, wait_ms: REPLAY_MS })
  let is_all = until_ms === undefined
  using _ = startProgress('replay of the log')
  const server = await start(target).catch((error) => {
    if (error instanceof EmbeddedError && STOPS_TOO_EARLY.test(error.message)) {
      throw new BackupError(
        `the copy of ${base.ended_at} has changes of a later time, because the clock was set back: name a later moment by --until`,
      )
    }
    if (!(error instanceof EmbeddedError && ENDS_BEFORE.test(error.message))) throw error
    is_all = true
    return start({})
  })
  const [last] = await withSession(
    server.connection,
    (sql) => sql<{ time: string | null; number: number }[]>`
      select to_char(pg_last_xact_replay_timestamp(), 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as time,
        floor((pg_last_wal_replay_lsn() - '0/0'::pg_lsn) / ${PIECE_BYTES}::numeric)::int as number`,
  )
  const { time, number } = last!
  return {
    owner: server.connection,
    restored_to: time ?? base.ended_at,
    is_all,
    last_number: number,
    stop: server.stop,
  }
}

/** A time as this parameter takes it: it knows no `Z`. */
function timestampOf(time_ms: number): string {
  return new Date(time_ms).toISOString().replace('T', ' ').replace('Z', '+00')
}
