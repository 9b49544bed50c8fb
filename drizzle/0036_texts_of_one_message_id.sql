ALTER TABLE "inbound_fingerprints" ADD COLUMN "words" text[];--> statement-breakpoint
ALTER TABLE "inbound_fingerprints" ADD COLUMN "from_list" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "organizations" ADD COLUMN "form_senders" text[] DEFAULT '{}' NOT NULL;