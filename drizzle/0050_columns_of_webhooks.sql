ALTER TABLE "webhooks" ADD COLUMN "filter" jsonb;--> statement-breakpoint
ALTER TABLE "webhooks" ADD COLUMN "ordered" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "webhooks" ADD COLUMN "failed_delivery_id" uuid;--> statement-breakpoint
ALTER TABLE "webhooks" ADD COLUMN "failure_told_at" timestamp with time zone;
