ALTER TABLE "events" ADD COLUMN "resource_id" uuid;--> statement-breakpoint
ALTER TABLE "events" ADD COLUMN "ticket_id" uuid;--> statement-breakpoint
ALTER TABLE "events" DROP CONSTRAINT "events_type";
--> statement-breakpoint
-- Not validated: the rows of before fit the narrower check, and reading all of them would lock the table for long.
ALTER TABLE "events" ADD CONSTRAINT "events_type" CHECK ("type" in ('ticket.created', 'ticket.updated', 'ticket.deleted', 'ticket.assigned', 'ticket.status_changed', 'ticket.erased', 'ticket.merged', 'ticket.unmerged', 'ticket.split', 'message.created', 'message.deleted', 'message.email_sent', 'message.email_failed', 'message.email_bounced', 'message.erased', 'contact.created', 'contact.updated', 'contact.deleted', 'company.created', 'company.updated', 'company.deleted', 'label.created', 'label.updated', 'label.deleted', 'time_entry.created', 'time_entry.updated', 'time_entry.deleted', 'inbound_message.filed', 'test.ping'));
