import type { Fragment } from '../../base/db/transact'
import { ApiError } from '../../base/errors'
import type { Scope } from '../../base/scope'
import { type Page, page } from '../../base/shapes/page'
import type { Paging } from '../../base/shapes/query'
import type { Schedule } from './model'

/** The schedules of the organization, by name. */
export function listSchedules(scope: Scope, query: Paging): Promise<Page<Schedule>> {
  const { sql, organization_id } = scope
  return page(scope, query, {
    name: 'schedules',
    sort: {
      keys: [
        { sql: sql`lower(s.name)`, field: 'name', bound: (name) => sql`lower(${name})` },
        { sql: sql`s.id`, field: 'id' },
      ],
      direction: 'asc',
    },
    rows: ({ slice }) => selectSchedules(scope, slice),
    count: () => sql<{ total: number }[]>`
      select count(*) as total from schedules where organization_id = ${organization_id}`,
  })
}

/** @throws SCHEDULE_NOT_FOUND */
export async function getSchedule(scope: Scope, id: string): Promise<Schedule> {
  const [schedule] = await selectSchedules(scope, scope.sql`and s.id = ${id}`)
  if (!schedule) throw new ApiError('SCHEDULE_NOT_FOUND')
  return schedule
}

/** The select list is the response: its columns are the fields of `Schedule`. */
function selectSchedules({ sql, organization_id }: Scope, rest: Fragment) {
  return sql<Schedule[]>`
    select s.id, s.name, s.hours, s.holidays, s.created_at, s.updated_at
    from schedules s where s.organization_id = ${organization_id} ${rest}`
}
