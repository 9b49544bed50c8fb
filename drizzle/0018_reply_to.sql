ALTER TABLE "messages" ADD COLUMN "reply_to" text;
--> statement-breakpoint
ALTER TABLE "time_entries" ADD COLUMN "company_id" uuid;
