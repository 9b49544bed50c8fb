/**
 * Lets the planner know on a cluster that `never()` is false, so that a condition with it leads to the node of an
 * organization. Elsewhere it must not know: it would read the documents of a search by their organization, not by their
 * words, because it takes all organizations for small ones (`desk/search/ticket-search.ts`). On a cluster each
 * statement is planned for its own organization.
 */
import type postgres from 'postgres'

/** Makes `never()` a constant. Citus does the same on every node. */
export async function routeSearches(sql: postgres.ISql): Promise<void> {
  await sql`
    create or replace function never() returns boolean language sql immutable parallel safe as 'select false'`
}
