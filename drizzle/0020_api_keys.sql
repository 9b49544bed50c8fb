CREATE TABLE "api_keys" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"name" text NOT NULL,
	"prefix" text NOT NULL,
	"key_hash" "bytea" NOT NULL,
	"permissions" text[] NOT NULL,
	"allowed_networks" text[] NOT NULL,
	"created_by_id" uuid,
	"created_at" timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
	"last_used_at" timestamp with time zone,
	"revoked_at" timestamp with time zone,
	CONSTRAINT "api_keys_organization_id_id_pk" PRIMARY KEY("organization_id","id"),
	CONSTRAINT "api_keys_permissions" CHECK (cardinality("api_keys"."permissions") > 0)
);
--> statement-breakpoint
ALTER TABLE "activities" DROP CONSTRAINT "activities_actor_type";--> statement-breakpoint
ALTER TABLE "idempotency_keys" DROP CONSTRAINT "idempotency_keys_member_fk";
--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_creator_fk" FOREIGN KEY ("organization_id","created_by_id") REFERENCES "public"."memberships"("organization_id","user_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "api_keys_hash" ON "api_keys" USING btree ("key_hash");--> statement-breakpoint
CREATE UNIQUE INDEX "api_keys_prefix" ON "api_keys" USING btree ("prefix");--> statement-breakpoint
-- Not validated: the rows of before fit the narrower check that they were written under, and reading all of them would lock
-- the table for long.
ALTER TABLE "activities" ADD CONSTRAINT "activities_actor_type" CHECK ("activities"."actor_type" in ('user', 'api_key', 'contact', 'system')) NOT VALID;