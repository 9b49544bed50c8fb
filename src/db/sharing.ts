/** Knows whose writes may share a transaction. */

let are_apart = false

/** Says whether organizations are on several machines, or apart for another reason. Is called when the database is connected. */
export function keepApart(apart: boolean): void {
  are_apart = apart
}

/**
 * Requests that come at the same time and have the same key may write in one transaction. On one machine all of them may: a
 * commit costs more than what it writes. On a cluster those of an organization may, because a transaction of several machines
 * commits in two phases, and fails with each of them.
 */
export function sharingKey(organization_id: string): string {
  return are_apart ? organization_id : ''
}
