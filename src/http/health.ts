/** Probes for orchestrators: `/healthz` says that the process runs, `/readyz` that it can work. */
import Elysia from 'elysia'

/** @param isReady true when the database is reachable and migrated; false or a rejection makes `/readyz` answer 503 */
export function healthRoutes(isReady: () => Promise<boolean>) {
  return new Elysia({ name: 'health', detail: { hide: true, permission: 'anyone' } })
    .get('/healthz', () => ({ status: 'ok' }))
    .get('/readyz', async ({ status }) => {
      const ready = await isReady().catch(() => false)
      return ready ? { status: 'ready' } : status(503, { status: 'unavailable' })
    })
}
