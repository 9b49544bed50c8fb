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
);--> statement-breakpoint
ALTER TABLE "contact_tokens" ADD CONSTRAINT "contact_tokens_contact_fk" FOREIGN KEY ("organization_id","contact_id") REFERENCES "public"."contacts"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "contact_tokens_hash" ON "contact_tokens" USING btree ("organization_id","token_hash");--> statement-breakpoint
CREATE INDEX "contact_tokens_contact" ON "contact_tokens" USING btree ("organization_id","contact_id");--> statement-breakpoint
CREATE INDEX "contact_tokens_expiry" ON "contact_tokens" USING btree ("expires_at");
