/** Collects when API keys were last used, and writes it once a minute for each key instead of with each request. */
import { inEach } from '../../base/db/all-organizations'
import { sharedTime } from '../../base/db/shared-time'
import type { Connection, Sql } from '../../base/db/transact'

type Use = { organization_id: string; at_ms: number }

const uses = new Map<string, Use>()

/** Notes that a key was used now. */
export function noteKeyUse({ id, organization_id }: { id: string; organization_id: string }): void {
  const use = uses.get(id)
  if (use) use.at_ms = sharedTime()
  else uses.set(id, { organization_id, at_ms: sharedTime() })
}

/** Writes what was collected, of all organizations. For a background job, and for the end of the service. */
export async function writeKeyUses({ sql }: Connection): Promise<void> {
  const collected = Map.groupBy(uses, ([, use]) => use.organization_id)
  uses.clear()
  await inEach(collected.keys(), async (organization_id) => {
    const own = collected.get(organization_id)!
    try {
      await writeOwn(sql, organization_id, own)
    } catch (error) {
      for (const [id, use] of own) if (!uses.has(id)) uses.set(id, use)
      throw error
    }
  })
}

/**
 * Writes one key after the other: a statement for several could wait for that of another process, and it for this one.
 */
async function writeOwn(sql: Sql, organization_id: string, own: [id: string, use: Use][]): Promise<void> {
  for (const [id, { at_ms }] of own) {
    await sql`
      update api_keys set last_used_at = greatest(last_used_at, to_timestamp(${at_ms / 1000}::float8))
      where organization_id = ${organization_id} and id = ${id}`
  }
}
