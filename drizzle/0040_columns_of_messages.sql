ALTER TABLE "messages" ADD COLUMN "drafted_by" jsonb;--> statement-breakpoint
ALTER TABLE "messages" ADD COLUMN "original_ticket_id" uuid;--> statement-breakpoint
ALTER TABLE "messages" ADD COLUMN "channel" text;
--> statement-breakpoint
-- Not validated: that would read all messages while nobody may write one. All have null there.
ALTER TABLE "messages" ADD CONSTRAINT "messages_channel" CHECK ("channel" in ('email', 'api', 'portal')) NOT VALID;--> statement-breakpoint
ALTER TABLE "messages" ADD COLUMN "signature_html" text;
