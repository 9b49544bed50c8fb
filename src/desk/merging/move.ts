/** Moves what was written on tickets, in the caller's transaction, which has locked them. */
import { type Scope, together } from '../../base/scope'

/** Ids of what has moved, as events tell them. */
type Moved = { message_ids: string[]; time_entry_ids: string[] }

type Code = { id: string; code: string }

/** Tables whose rows remember the ticket that they were written on. Attachments go with messages and drafts. */
const TABLES = ['messages', 'drafts', 'time_entries', 'timers'] as const

/** A ticket as entries of a timeline name it. */
export function codeOf({ id, code }: Code): Code {
  return { id, code }
}

/** Moves all that is on some tickets to another one. */
export async function moveAll(scope: Scope, from: string[], to: string): Promise<Moved> {
  const { sql, organization_id } = scope
  return movedOf(
    await together(
      TABLES.map(
        (table) => sql<{ id: string }[]>`
          update ${sql(table)} set ticket_id = ${to}, original_ticket_id = coalesce(original_ticket_id, ticket_id)
          where organization_id = ${organization_id} and ticket_id = any(${from}::uuid[])
          returning id`,
      ),
    ),
  )
}

/**
 * Moves what was written on some tickets back to the first of them. The others stay merged into that one.
 * @param from the ticket where it is
 */
export async function moveBack(scope: Scope, from: string, written_on: [string, ...string[]]): Promise<Moved> {
  const { sql, organization_id } = scope
  const [to] = written_on
  return movedOf(
    await together(
      TABLES.map(
        (table) => sql<{ id: string }[]>`
          update ${sql(table)} set ticket_id = ${to}, original_ticket_id = nullif(original_ticket_id, ${to})
          where organization_id = ${organization_id} and ticket_id = ${from}
            and original_ticket_id = any(${written_on}::uuid[])
          returning id`,
      ),
    ),
  )
}

function movedOf(tables: readonly { id: string }[][]): Moved {
  const idsOf = (table: (typeof TABLES)[number]) => tables[TABLES.indexOf(table)]!.map(({ id }) => id).sort()
  return { message_ids: idsOf('messages'), time_entry_ids: idsOf('time_entries') }
}
