/** Shows how the continuous backup is. */
import { Gauge } from 'prom-client'

type State = { covered_until?: string; last_base?: string; waiting_bytes?: number }

/**
 * Registers the gauges. Call it once.
 * @param readVerified undefined when the backup is not verified by itself
 */
export function showBackup(
  readState: () => State,
  readVerified: (() => { at: string; fault?: string } | undefined) | undefined,
) {
  const started_ms = Date.now()
  const show = (name: string, help: string, read: () => number) => {
    new Gauge({
      name,
      help,
      collect() {
        this.set(read())
      },
    })
  }
  const seconds = (time: string | undefined) => (time ? Date.parse(time) / 1000 : 0)
  show('deskwire_backup_lag_seconds', 'Age of the oldest change that may not be in the backup', () => {
    const { covered_until } = readState()
    return (Date.now() - (covered_until ? Date.parse(covered_until) : started_ms)) / 1000
  })
  show('deskwire_backup_last_base_timestamp_seconds', 'Time of the last base copy in the backup', () =>
    seconds(readState().last_base),
  )
  show(
    'deskwire_backup_spool_bytes',
    'Bytes of the log that wait on this disk for the backup',
    () => readState().waiting_bytes ?? 0,
  )
  if (!readVerified) return
  show(
    'deskwire_backup_verified_timestamp_seconds',
    'Time of the last look at the whole backup that found nothing wrong',
    () => {
      const verified = readVerified()
      return verified?.fault === undefined ? seconds(verified?.at) : 0
    },
  )
}
