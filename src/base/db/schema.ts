/**
 * Every table, constraint and word list. Foreign keys lead from one file of `schema/` to another without a circle:
 * organizations, members, mailboxes, customers, tickets, messages, and then what is about these.
 *
 * `organization_id` is first in the primary key and in every foreign key of a tenant's table, so that a row can never
 * point into another organization. Ids are UUIDv7 and `created_at` is computed from them: order by id is order by time.
 */

export * from './schema/customer-tables'
export * from './schema/figure-tables'
export * from './schema/mailbox-tables'
export * from './schema/member-tables'
export * from './schema/message-tables'
export * from './schema/organization-tables'
export * from './schema/outbox-tables'
export * from './schema/promise-tables'
export * from './schema/rating-tables'
export * from './schema/retention-tables'
export * from './schema/rule-tables'
export * from './schema/sign-in-tables'
export { TABLE_KINDS, type TableKind } from './schema/table-parts'
export * from './schema/team-tables'
export * from './schema/ticket-tables'
export * from './schema/time-tables'
export * from './schema/view-tables'
export * from './schema/webhook-tables'
export * from './schema/word-lists'
