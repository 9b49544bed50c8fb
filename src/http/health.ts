/** Probes for orchestrators (decisions.md section 10). */
import Elysia from 'elysia'

/** @param isReady whether the database is reachable and migrated; may reject */
export function healthRoutes(isReady: () => Promise<boolean>) {
  return new Elysia({ name: 'health', detail: { hide: true, permission: 'anyone' } })
    .get('/healthz', () => ({ status: 'ok' }))
    .get('/readyz', async ({ status }) => {
      const ready = await isReady().catch(() => false)
      return ready ? { status: 'ready' } : status(503, { status: 'unavailable' })
    })
}
