/** Compares a thing before and after a change, for the audit log. */

/** Changes by the name of the field in the API. */
export type Changes = Record<string, { from: unknown; to: unknown }>

/** Change with every write, or never: an entry has its own id and time. */
const NOT_LISTED = ['id', 'created_at', 'updated_at']

type Thing = Record<string, unknown>

/**
 * Gives the fields that differ. A created thing has no `before` and a deleted one no `after`: then all fields that are
 * not null are listed. Undefined counts as null.
 * @param before, after a resource as the API shows it; its secrets are `masked`
 * @param renewed names of secrets that were set, which are listed although they look the same
 * @returns null when nothing differs
 */
export function changesOf(before: Thing | null, after: Thing | null, renewed: string[] = []): Changes | null {
  const fields = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])
  const changes: Changes = {}
  for (const field of fields) {
    const [from, to] = [before?.[field] ?? null, after?.[field] ?? null]
    const differs = renewed.includes(field) || JSON.stringify(from) !== JSON.stringify(to)
    if (differs && !NOT_LISTED.includes(field)) changes[field] = { from, to }
  }
  return Object.keys(changes).length > 0 ? changes : null
}

/** Gives what stands for a secret in the log: that there is one, never which. */
export function masked(is_set: unknown): '***' | null {
  return is_set ? '***' : null
}
