/** The table of what contacts are asked. */
import { boolean, primaryKey, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { instant } from '../columns'
import { distributedTable, reference, tenant } from './table-parts'
import { tickets } from './ticket-tables'

/** Requests to rate a ticket, one for each: a letter of the same id asks its contact (`desk/ratings`). */
export const rating_requests = distributedTable(
  'rating_requests',
  {
    ...tenant(),
    ticket_id: uuid().notNull(),
    /** The ticket was resolved; else somebody asks. */
    is_automatic: boolean().notNull(),
    /** When the letter left, and to which contact: its links are good for a while. */
    sent_at: instant(),
    contact_id: uuid(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.id] }),
    uniqueIndex('rating_requests_ticket').on(table.organization_id, table.ticket_id),
    reference('rating_requests_ticket', [table.organization_id, table.ticket_id], tickets, 'cascade'),
  ],
)
