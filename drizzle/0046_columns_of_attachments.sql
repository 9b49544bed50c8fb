ALTER TABLE "attachments" ADD COLUMN "draft_id" uuid;--> statement-breakpoint
ALTER TABLE "attachments" ADD COLUMN "is_by_contact" boolean DEFAULT false NOT NULL;
