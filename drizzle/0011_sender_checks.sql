ALTER TABLE "inbound_messages" ADD COLUMN "relay_address" text;--> statement-breakpoint
ALTER TABLE "inbound_messages" ADD COLUMN "sender_verified" boolean;--> statement-breakpoint
ALTER TABLE "inbound_messages" ADD COLUMN "authentication" jsonb;--> statement-breakpoint
ALTER TABLE "messages" ADD COLUMN "sender_verified" boolean;--> statement-breakpoint
ALTER TABLE "organizations" ADD COLUMN "sender_policy" text DEFAULT 'flag' NOT NULL;--> statement-breakpoint
ALTER TABLE "organizations" ADD CONSTRAINT "organizations_sender_policy" CHECK ("organizations"."sender_policy" in ('flag', 'restrict'));