ALTER TABLE "participants" ADD COLUMN "original_ticket_id" uuid;--> statement-breakpoint
ALTER TABLE "participants" ADD COLUMN "was_listed" boolean DEFAULT false NOT NULL;
