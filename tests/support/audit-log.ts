/** The audit log as tests read it. */
import type { Organization } from './api'

/** Reads the entries about a thing, the first first. */
export async function auditOf({ admin }: Organization, id: string) {
  const { data } = (await admin.get('/audit-log?per_page=100')).body
  const entries = data.filter((entry: { resource: { id: string } | null }) => entry.resource?.id === id)
  return entries.map(({ action, changes }: { action: string; changes: object }) => ({ action, changes })).toReversed()
}
