CREATE TABLE "rating_requests" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"ticket_id" uuid NOT NULL,
	"is_automatic" boolean NOT NULL,
	"sent_at" timestamp with time zone,
	"contact_id" uuid,
	CONSTRAINT "rating_requests_organization_id_id_pk" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
ALTER TABLE "events" DROP CONSTRAINT "events_type";--> statement-breakpoint
ALTER TABLE "organizations" ADD COLUMN "ask_rating_after_minutes" integer;--> statement-breakpoint
ALTER TABLE "rating_requests" ADD CONSTRAINT "rating_requests_ticket_fk" FOREIGN KEY ("organization_id","ticket_id") REFERENCES "public"."tickets"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "rating_requests_ticket" ON "rating_requests" USING btree ("organization_id","ticket_id");--> statement-breakpoint
ALTER TABLE "events" ADD CONSTRAINT "events_type" CHECK ("type" in ('ticket.created', 'ticket.updated', 'ticket.deleted', 'ticket.assigned', 'ticket.status_changed', 'ticket.erased', 'ticket.merged', 'ticket.unmerged', 'ticket.split', 'ticket.rated', 'message.created', 'message.deleted', 'message.email_sent', 'message.email_failed', 'message.email_bounced', 'message.erased', 'contact.created', 'contact.updated', 'contact.deleted', 'company.created', 'company.updated', 'company.deleted', 'label.created', 'label.updated', 'label.deleted', 'time_entry.created', 'time_entry.updated', 'time_entry.deleted', 'inbound_message.filed', 'organization.imported', 'test.ping'));