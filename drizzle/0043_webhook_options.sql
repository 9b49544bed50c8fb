ALTER TABLE "events" DROP CONSTRAINT "events_type";--> statement-breakpoint
ALTER TABLE "outbox" ADD COLUMN "place" bigint;--> statement-breakpoint
ALTER TABLE "outbox" ADD COLUMN "nth" integer;--> statement-breakpoint
ALTER TABLE "webhooks" ADD COLUMN "filter" jsonb;--> statement-breakpoint
ALTER TABLE "webhooks" ADD COLUMN "ordered" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "webhooks" ADD COLUMN "failed_delivery_id" uuid;--> statement-breakpoint
ALTER TABLE "webhooks" ADD COLUMN "failure_told_at" timestamp with time zone;--> statement-breakpoint
-- Safe beside older processes: the outbox has only the work that is left, and the index only what is parked.
CREATE INDEX "outbox_waiting" ON "outbox" USING btree ("lane_id","place","nth") WHERE "outbox"."run_at" = 'infinity';--> statement-breakpoint
-- Not validated: the rows of before fit the narrower check, and reading all of them would lock the table for long.
ALTER TABLE "events" ADD CONSTRAINT "events_type" CHECK ("type" in ('ticket.created', 'ticket.updated', 'ticket.deleted', 'ticket.assigned', 'ticket.status_changed', 'ticket.erased', 'message.created', 'message.deleted', 'message.email_sent', 'message.email_failed', 'message.email_bounced', 'message.erased', 'contact.created', 'contact.updated', 'contact.deleted', 'company.created', 'company.updated', 'company.deleted', 'label.created', 'label.updated', 'label.deleted', 'time_entry.created', 'time_entry.updated', 'time_entry.deleted', 'inbound_message.filed', 'test.ping')) NOT VALID;