ALTER TABLE "mailboxes" ADD COLUMN "dkim_domain" text;--> statement-breakpoint
ALTER TABLE "mailboxes" ADD COLUMN "dkim_selector" text;--> statement-breakpoint
ALTER TABLE "mailboxes" ADD COLUMN "dkim_private_key" text;--> statement-breakpoint
ALTER TABLE "mailboxes" ADD COLUMN "verp" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "webhooks" ADD COLUMN "previous_secret" text;--> statement-breakpoint
ALTER TABLE "webhooks" ADD COLUMN "previous_secret_until" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "mailboxes" ADD CONSTRAINT "mailboxes_dkim_complete" CHECK (num_nulls("mailboxes"."dkim_domain", "mailboxes"."dkim_selector", "mailboxes"."dkim_private_key") in (0, 3));--> statement-breakpoint
ALTER TABLE "webhooks" ADD CONSTRAINT "webhooks_previous_secret" CHECK (num_nulls("webhooks"."previous_secret", "webhooks"."previous_secret_until") in (0, 2));