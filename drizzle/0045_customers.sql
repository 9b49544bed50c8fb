CREATE TABLE "contact_tokens" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"contact_id" uuid NOT NULL,
	"token_hash" "bytea" NOT NULL,
	"scope" text NOT NULL,
	"api_key_id" uuid,
	"user_id" uuid,
	"expires_at" timestamp with time zone NOT NULL,
	"created_at" timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
	CONSTRAINT "contact_tokens_organization_id_id_pk" PRIMARY KEY("organization_id","id"),
	CONSTRAINT "contact_tokens_scope" CHECK ("contact_tokens"."scope" in ('own', 'company')),
	CONSTRAINT "contact_tokens_maker" CHECK (num_nulls("contact_tokens"."api_key_id", "contact_tokens"."user_id") = 1)
);
--> statement-breakpoint
ALTER TABLE "attachments" ADD COLUMN "is_by_contact" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "messages" ADD COLUMN "channel" text;--> statement-breakpoint
ALTER TABLE "organizations" ADD COLUMN "portal_origins" text[] DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE "contact_tokens" ADD CONSTRAINT "contact_tokens_contact_fk" FOREIGN KEY ("organization_id","contact_id") REFERENCES "public"."contacts"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "contact_tokens_hash" ON "contact_tokens" USING btree ("organization_id","token_hash");--> statement-breakpoint
CREATE INDEX "contact_tokens_contact" ON "contact_tokens" USING btree ("organization_id","contact_id");--> statement-breakpoint
CREATE INDEX "contact_tokens_expiry" ON "contact_tokens" USING btree ("expires_at");--> statement-breakpoint
-- Not validated: that would read all messages while nobody may write one. All have null there.
ALTER TABLE "messages" ADD CONSTRAINT "messages_channel" CHECK ("channel" in ('email', 'api', 'portal')) NOT VALID;