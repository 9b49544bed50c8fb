import type { Sql } from '../../base/db/transact'
import type { Scope } from '../../base/scope'
import { type Page, page } from '../../base/shapes/page'
import type { Paging } from '../../base/shapes/query'
import { exactTime } from '../../base/shapes/settled'
import type { Timer } from './model'

/** Returns the running timer of a member, undefined when there is none. */
export async function findTimer(scope: Scope, user_id: string): Promise<Timer | undefined> {
  const { sql, organization_id } = scope
  const [timer] = await sql<Timer[]>`
    select ${fields(sql)} from timers r ${withTicketAndUser(scope)}
    where r.organization_id = ${organization_id} and r.user_id = ${user_id}`
  return timer
}

/** A row of a list; `began_at` is `started_at` with all its digits. */
type ListRow = Timer & { began_at: string }

/** The running timers of all members, the last started first. */
export async function listTimers(scope: Scope, paging: Paging): Promise<Page<Timer>> {
  const { sql, organization_id } = scope
  const { data, meta } = await page(scope, paging, {
    name: 'timers',
    sort: {
      keys: [
        { sql: sql`r.started_at`, field: 'began_at' },
        { sql: sql`r.id`, field: 'id' },
      ],
      direction: 'desc',
    },
    rows: ({ slice }) => sql<ListRow[]>`
      select ${fields(sql)}, ${exactTime(sql, sql`r.started_at`)} as began_at from timers r ${withTicketAndUser(scope)}
      where r.organization_id = ${organization_id} ${slice}`,
    count: () => sql<{ total: number }[]>`
      select count(*) as total from timers where organization_id = ${organization_id}`,
  })
  return { data: data.map(({ began_at: _, ...timer }) => timer), meta }
}

/**
 * The select list is the response. The database's clock starts and stops every timer, so that clocks of replicas may
 * differ.
 */
function fields(sql: Sql) {
  return sql`
    r.id, json_build_object('id', t.id, 'code', t.code, 'subject', t.subject) as ticket,
    json_build_object('id', u.id, 'name', u.name) as user, r.description, r.billable, r.rate, r.started_at,
    greatest(floor(extract(epoch from clock_timestamp() - r.started_at)), 0)::bigint as elapsed_seconds`
}

function withTicketAndUser({ sql, organization_id }: Scope) {
  return sql`
    join tickets t on t.organization_id = ${organization_id} and t.id = r.ticket_id
    join users u on u.id = r.user_id`
}
