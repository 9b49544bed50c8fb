/** Notes the ids of what is erased, so that a walk over events and stored answers finds it, also after a crash. */
import { newId } from '../../base/db/columns'
import type { Scope } from '../../base/scope'

/** Writes a note in the caller's transaction. `finishErasures` reads it. @returns its id */
export async function noteErasedIds({ sql, organization_id }: Scope, ids: string[]): Promise<string> {
  const id = newId()
  await sql`
    insert into retention_erasures (organization_id, id, ids) values (${organization_id}, ${id}, ${ids}::uuid[])`
  return id
}
