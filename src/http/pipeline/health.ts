/** Probes for orchestrators: `/healthz` says that the process runs, `/readyz` that it can work. */
import Elysia from 'elysia'
import { machinesAway } from '../../base/db/cluster/away'
import { log } from '../../base/log'
import { build } from '../../base/process/build'

/** @param isReady true when the database is reachable and migrated; false or a rejection makes `/readyz` answer 503 */
export function healthRoutes(isReady: () => Promise<boolean>) {
  let was_ready = true
  const note = (is_ready: boolean) => {
    // Requests of probes are in the log at level `debug` only.
    if (is_ready !== was_ready)
      log[is_ready ? 'info' : 'warn'](is_ready ? 'ready again' : 'not ready: /readyz answers 503')
    was_ready = is_ready
    return is_ready
  }
  return new Elysia({ name: 'health', detail: { hide: true, permission: 'anyone' } })
    .get('/healthz', () => ({ status: 'ok', version: build.version, commit: build.commit }))
    .get('/readyz', async ({ status }) => {
      const ready = note(await isReady().catch(() => false))
      if (!ready) return status(503, { status: 'unavailable' })
      // The organizations of the other machines are served, so no load balancer is to look for another process.
      const machines_away = machinesAway().length
      return { status: 'ready', ...(machines_away > 0 && { machines_away }) }
    })
}
