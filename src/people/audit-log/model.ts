/** The audit log as the API shows it, and the query that it takes. */
import { Type } from '@sinclair/typebox'
import { AUDIT_ACTIONS, AUDIT_RESOURCES, OPERATOR_ACTION } from '../../base/audit/actions'
import { AUDIT_ACTOR_TYPES } from '../../base/db/schema'
import { Instant, orNull, Uuid } from '../../base/shapes/answers'
import { oneOf } from '../../base/shapes/fields'
import { Paging, query, queryId, queryInstant, queryValue, queryWord } from '../../base/shapes/query'

export const AuditLogEntry = Type.Object({
  id: Uuid,
  actor: Type.Object(
    {
      type: oneOf(AUDIT_ACTOR_TYPES, { description: '`system`: the service itself' }),
      id: orNull(Uuid, { description: 'Of the user or API key' }),
      name: orNull(Type.String({ description: 'At that time' })),
    },
    { description: 'Who did it; of a refused sign-in the account that was tried' },
  ),
  action: Type.String({ description: 'What was done', examples: ['user.updated'] }),
  resource: orNull(Type.Object({ type: oneOf(AUDIT_RESOURCES, { description: 'Kind of thing' }), id: Uuid }), {
    description: 'What it was done to',
  }),
  changes: orNull(Type.Record(Type.String(), Type.Unknown()), {
    description: '`from` and `to` by the name of the field; a secret is `***`, and null when there is none',
  }),
  ip: orNull(Type.String({ description: 'Address of the client; null: it did not begin with a request' })),
  user_agent: orNull(Type.String({ description: 'What the client called itself' })),
  request_id: orNull(Type.String({ description: 'X-Request-Id of the answer' })),
  created_at: Instant,
})
export type AuditLogEntry = typeof AuditLogEntry.static

export const AuditLogFilter = query({
  actor_id: queryId({ description: 'Of a user or API key' }),
  action: queryValue(
    { type: 'string', anyOf: [{ enum: [...AUDIT_ACTIONS] }, { pattern: OPERATOR_ACTION.source }] },
    (text) => (AUDIT_ACTIONS.some((action) => action === text) || OPERATOR_ACTION.test(text) ? text : undefined),
    { fault: `must be one of ${AUDIT_ACTIONS.join(', ')}, operator.<command>` },
  ),
  resource_type: queryWord(AUDIT_RESOURCES),
  resource_id: queryId(),
  created_after: queryInstant({ description: 'Entries after this time, exclusive' }),
  created_before: queryInstant({ description: 'Entries before this time, exclusive' }),
  ...Paging,
})
export type AuditLogFilter = typeof AuditLogFilter.static
