ALTER TABLE "inbound_messages" ADD COLUMN "recipients" text[] DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE "inbound_messages" ADD COLUMN "from_keys" text[] DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE "inbound_messages" ADD COLUMN "to_keys" text[] DEFAULT '{}' NOT NULL;
