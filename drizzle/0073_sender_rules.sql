CREATE TABLE "sender_rules" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"sender" text NOT NULL,
	"sender_key" text NOT NULL,
	"action" text NOT NULL,
	"created_at" timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
	CONSTRAINT "sender_rules_organization_id_id_pk" PRIMARY KEY("organization_id","id"),
	CONSTRAINT "sender_rules_action" CHECK ("sender_rules"."action" in ('block', 'allow'))
);
--> statement-breakpoint
ALTER TABLE "organizations" ADD COLUMN "spam_policy" text DEFAULT 'hold' NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "sender_rules_sender" ON "sender_rules" USING btree ("organization_id","sender_key");--> statement-breakpoint
ALTER TABLE "organizations" ADD CONSTRAINT "organizations_spam_policy" CHECK ("spam_policy" in ('hold', 'mark'));