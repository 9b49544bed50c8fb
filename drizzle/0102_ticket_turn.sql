ALTER TABLE "tickets" ADD COLUMN "last_message_id" uuid;--> statement-breakpoint
ALTER TABLE "tickets" ADD COLUMN "waiting_message_id" uuid;--> statement-breakpoint
ALTER TABLE "tickets" ADD COLUMN "message_count" integer;--> statement-breakpoint
ALTER TABLE "tickets" ADD COLUMN "attachment_count" integer;