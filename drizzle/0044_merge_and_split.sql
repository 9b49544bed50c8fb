ALTER TABLE "events" DROP CONSTRAINT "events_type";--> statement-breakpoint
ALTER TABLE "drafts" ADD COLUMN "original_ticket_id" uuid;--> statement-breakpoint
ALTER TABLE "messages" ADD COLUMN "original_ticket_id" uuid;--> statement-breakpoint
ALTER TABLE "participants" ADD COLUMN "original_ticket_id" uuid;--> statement-breakpoint
ALTER TABLE "participants" ADD COLUMN "was_listed" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "tickets" ADD COLUMN "merged_into_id" uuid;--> statement-breakpoint
ALTER TABLE "tickets" ADD COLUMN "merged_first_into_id" uuid;--> statement-breakpoint
ALTER TABLE "tickets" ADD COLUMN "merged_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "tickets" ADD COLUMN "status_before_merge" text;--> statement-breakpoint
ALTER TABLE "tickets" ADD COLUMN "split_from_id" uuid;--> statement-breakpoint
ALTER TABLE "time_entries" ADD COLUMN "original_ticket_id" uuid;--> statement-breakpoint
ALTER TABLE "timers" ADD COLUMN "original_ticket_id" uuid;--> statement-breakpoint
-- Safe beside older processes: no ticket is merged yet, so the index is empty and only the table is read once.
CREATE INDEX "tickets_merged" ON "tickets" USING btree ("organization_id","merged_into_id","id") WHERE "tickets"."merged_into_id" is not null;--> statement-breakpoint
ALTER TABLE "events" ADD CONSTRAINT "events_type" CHECK ("type" in ('ticket.created', 'ticket.updated', 'ticket.deleted', 'ticket.assigned', 'ticket.status_changed', 'ticket.erased', 'ticket.merged', 'ticket.unmerged', 'ticket.split', 'message.created', 'message.deleted', 'message.email_sent', 'message.email_failed', 'message.email_bounced', 'message.erased', 'contact.created', 'contact.updated', 'contact.deleted', 'company.created', 'company.updated', 'company.deleted', 'label.created', 'label.updated', 'label.deleted', 'time_entry.created', 'time_entry.updated', 'time_entry.deleted', 'inbound_message.filed', 'test.ping'));
--> statement-breakpoint
-- Time that a merge has moved keeps the company of the ticket that it was logged on.
CREATE OR REPLACE FUNCTION pass_company_to_time() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	UPDATE time_entries SET company_id = new.company_id
	WHERE organization_id = new.organization_id AND ticket_id = coalesce(new.merged_into_id, new.id)
		AND coalesce(original_ticket_id, ticket_id) = new.id AND company_id IS DISTINCT FROM new.company_id;
	RETURN NULL;
END $$;
