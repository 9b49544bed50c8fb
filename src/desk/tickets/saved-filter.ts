/** Filters of the ticket list that were saved as views, and what they leave to the reader. */
import type { Fragment } from '../../base/db/transact'
import { ApiError, fieldError, unknownIds } from '../../base/errors'
import type { Scope } from '../../base/scope'
import { readParameters } from '../../base/shapes/query'
import { personId, requireRight } from '../../http/request/permissions'
import { wordsOfFilter } from '../custom/custom-words'
import type { CustomFilter } from '../custom/model'
import { TICKET_FILTERS } from './conditions'
import type { TicketFilter, TicketQuery } from './model'
import type { TicketSort } from './order'

const CUSTOM = 'custom.'

/**
 * The filter that a query means: its parameters replace those of its view, and `me` is the reader.
 * @throws VIEW_NOT_FOUND, VALIDATION_ERROR when an API key asks for `me` or `unread`
 */
export async function effectiveFilter(scope: Scope, { view_id, ...given }: TicketQuery): Promise<TicketFilter> {
  if (view_id === undefined) return withReader(scope, given)
  const { sql, organization_id } = scope
  const [view] = await sql<{ filter: Record<string, string>; sort: TicketSort | null }[]>`
    select v.filter, v.sort from views v
    where v.organization_id = ${organization_id} and v.id = ${view_id} and ${isVisible(scope)}`
  if (!view) throw unknownIds('VIEW_NOT_FOUND', '/query/view_id', [view_id])
  const { values, custom } = readFilter(view.filter)
  const fields = { ...custom, ...given.custom }
  const sort = given.sort ?? view.sort ?? undefined
  const filter = {
    ...values,
    ...given,
    ...(sort && { sort }),
    ...(Object.keys(fields).length > 0 && { custom: fields }),
  }
  return withReader(scope, filter, (name) => (given[name] === undefined ? '/query/view_id' : `/query/${name}`))
}

/** SQL for the views that the caller sees: a condition on `views v`. */
export function isVisible(scope: Scope): Fragment {
  return scope.sql`(v.shared or v.owner_id = ${personId(scope)})`
}

/** @throws VALIDATION_ERROR, or the code of the first parameter that is wrong; all of them are named */
export function requireFilter({ organization_id }: Scope, filter: Record<string, string>): void {
  const { custom, faults } = readFilter(filter)
  const errors = faults.map(({ name, message }) => ({ path: `/filter/${name}`, message }))
  if (faults[0]) throw new ApiError(faults[0].code, { errors }, 422)
  wordsOfFilter(organization_id, custom, `/filter/${CUSTOM}`)
}

function readFilter(filter: Record<string, string>) {
  const [custom, others] = [true, false].map((is_custom) =>
    Object.entries(filter).filter(([name]) => name.startsWith(CUSTOM) === is_custom),
  ) as [[string, string][], [string, string][]]
  const fields: CustomFilter = Object.fromEntries(custom.map(([name, text]) => [name.slice(CUSTOM.length), text]))
  return { ...readParameters(TICKET_FILTERS, Object.fromEntries(others)), custom: fields }
}

type Personal = 'assignee_id' | 'unread'

/**
 * Puts the reader in the place of `me`.
 * @param pathOf the place of a filter, for faults
 * @throws VALIDATION_ERROR for an API key, which has no tickets and reads none; FORBIDDEN for one that reads no drafts
 */
export function withReader(
  scope: Scope,
  filter: TicketFilter,
  pathOf = (name: Personal) => `/query/${name}`,
): TicketFilter {
  const is_mine = filter.assignee_id === 'me'
  const assignee_id = personId(scope)
  if (assignee_id !== null) return is_mine ? { ...filter, assignee_id } : filter
  if (is_mine) throw fieldError('VALIDATION_ERROR', pathOf('assignee_id'), 'must be a user: an API key has no tickets')
  if (filter.has_draft !== undefined) requireRight(scope, 'drafts:read')
  if (filter.unread === undefined) return filter
  throw fieldError('VALIDATION_ERROR', pathOf('unread'), 'is for people: an API key reads nothing')
}
