ALTER TABLE "drafts" ADD COLUMN "quote" text;--> statement-breakpoint
ALTER TABLE "mailboxes" ADD COLUMN "quote" text DEFAULT 'none' NOT NULL;--> statement-breakpoint
ALTER TABLE "messages" ADD COLUMN "quoted_ids" uuid[];