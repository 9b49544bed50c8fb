CREATE TABLE "inlets" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"mailbox_id" uuid NOT NULL,
	"provider" text NOT NULL,
	"token_hash" "bytea" NOT NULL,
	"signing_key" text,
	"ends_at" timestamp with time zone,
	"created_at" timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
	CONSTRAINT "inlets_organization_id_id_pk" PRIMARY KEY("organization_id","id"),
	CONSTRAINT "inlets_provider" CHECK ("inlets"."provider" in ('raw', 'postmark', 'cloudmailin', 'mailgun', 'sendgrid'))
);
--> statement-breakpoint
ALTER TABLE "inlets" ADD CONSTRAINT "inlets_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "inlets" ADD CONSTRAINT "inlets_mailbox_fk" FOREIGN KEY ("organization_id","mailbox_id") REFERENCES "public"."mailboxes"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "inlets_hash" ON "inlets" USING btree ("token_hash");--> statement-breakpoint
CREATE UNIQUE INDEX "inlets_present" ON "inlets" USING btree ("organization_id","mailbox_id") WHERE "inlets"."ends_at" is null;