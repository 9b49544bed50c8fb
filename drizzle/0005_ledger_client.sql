ALTER TABLE "inbound_messages" ADD COLUMN "remote_address" text;--> statement-breakpoint
ALTER TABLE "inbound_messages" ADD COLUMN "helo" text;--> statement-breakpoint
ALTER TABLE "inbound_messages" ADD COLUMN "tls" boolean;