CREATE TABLE "invitations" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"email" text NOT NULL,
	"email_key" text NOT NULL,
	"name" text NOT NULL,
	"role" text NOT NULL,
	"hourly_rate" numeric(9, 2),
	"currency" text,
	"token_hash" "bytea" NOT NULL,
	"is_proof" boolean NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	"created_at" timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
	CONSTRAINT "invitations_organization_id_id_pk" PRIMARY KEY("organization_id","id"),
	CONSTRAINT "invitations_role" CHECK ("invitations"."role" in ('admin', 'agent')),
	CONSTRAINT "invitations_hourly_rate" CHECK ("invitations"."hourly_rate" between 0 and 1000000),
	CONSTRAINT "invitations_currency" CHECK ("invitations"."currency" ~ '^[A-Z]{3}$')
);
--> statement-breakpoint
CREATE TABLE "letters" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"about_id" uuid NOT NULL,
	"mailbox_id" uuid,
	"recipient" text NOT NULL,
	"sealed_text" text NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	CONSTRAINT "letters_organization_id_id_pk" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
ALTER TABLE "outbox" DROP CONSTRAINT "outbox_kind";--> statement-breakpoint
ALTER TABLE "invitations" ADD CONSTRAINT "invitations_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "invitations_email" ON "invitations" USING btree ("organization_id","email_key");--> statement-breakpoint
CREATE INDEX "invitations_address" ON "invitations" USING btree ("email_key");--> statement-breakpoint
CREATE UNIQUE INDEX "invitations_token" ON "invitations" USING btree ("token_hash");--> statement-breakpoint
CREATE INDEX "invitations_expiry" ON "invitations" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "letters_about" ON "letters" USING btree ("organization_id","about_id");--> statement-breakpoint
CREATE INDEX "letters_expiry" ON "letters" USING btree ("expires_at");--> statement-breakpoint
ALTER TABLE "outbox" ADD CONSTRAINT "outbox_kind" CHECK ("outbox"."kind" in ('webhook', 'email', 'inbound', 'letter'));