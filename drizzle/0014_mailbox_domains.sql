CREATE TABLE "domains" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"domain" text NOT NULL,
	"challenge" text NOT NULL,
	"verified_at" timestamp with time zone,
	"verified_by" text,
	"created_at" timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
	CONSTRAINT "domains_organization_id_id_pk" PRIMARY KEY("organization_id","id"),
	CONSTRAINT "domains_verified_by" CHECK ("domains"."verified_by" in ('dns', 'operator')),
	CONSTRAINT "domains_verified_complete" CHECK (num_nulls("domains"."verified_at", "domains"."verified_by") in (0, 2))
);
--> statement-breakpoint
CREATE TABLE "released_addresses" (
	"organization_id" uuid NOT NULL,
	"address_key" text NOT NULL,
	"released_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "released_addresses_organization_id_address_key_pk" PRIMARY KEY("organization_id","address_key")
);
--> statement-breakpoint
DROP INDEX "mailboxes_address";--> statement-breakpoint
ALTER TABLE "mailboxes" ADD COLUMN "has_address" boolean DEFAULT true NOT NULL;--> statement-breakpoint
ALTER TABLE "domains" ADD CONSTRAINT "domains_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "released_addresses" ADD CONSTRAINT "released_addresses_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "domains_domain" ON "domains" USING btree ("organization_id","domain");--> statement-breakpoint
CREATE INDEX "released_addresses_key" ON "released_addresses" USING btree ("address_key");--> statement-breakpoint
CREATE UNIQUE INDEX "mailboxes_own_address" ON "mailboxes" USING btree ("organization_id","address_key");--> statement-breakpoint
CREATE UNIQUE INDEX "mailboxes_address" ON "mailboxes" USING btree ("address_key") WHERE "mailboxes"."has_address";