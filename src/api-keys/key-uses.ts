/** Collects when API keys were last used, and writes it with one statement a minute instead of one for each request. */
import { sharedTime } from '../db/shared-time'
import type { Connection } from '../db/transact'

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
  const collected = [...uses]
  if (collected.length === 0) return
  uses.clear()
  try {
    // The rows are locked in one order, because other processes write the uses of the same keys.
    await sql`
      with used as (
        select k.organization_id, k.id, to_timestamp(u.at_s) as at
        from unnest(${collected.map(([, use]) => use.organization_id)}::uuid[], ${collected.map(([id]) => id)}::uuid[],
          ${collected.map(([, use]) => use.at_ms / 1000)}::float8[]) as u (organization_id, id, at_s)
        join api_keys k on k.organization_id = u.organization_id and k.id = u.id
        order by k.organization_id, k.id for no key update of k
      )
      update api_keys k set last_used_at = greatest(k.last_used_at, used.at)
      from used where k.organization_id = used.organization_id and k.id = used.id`
  } catch (error) {
    for (const [id, use] of collected) if (!uses.has(id)) uses.set(id, use)
    throw error
  }
}
