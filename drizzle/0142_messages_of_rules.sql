ALTER TABLE "messages" ADD COLUMN "from_list" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "messages" ADD COLUMN "rule_id" uuid;