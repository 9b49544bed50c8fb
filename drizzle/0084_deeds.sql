CREATE TABLE "deeds" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"kind" text NOT NULL,
	"subject_id" uuid NOT NULL,
	"source_ids" uuid[] DEFAULT '{}' NOT NULL,
	"actor_type" text NOT NULL,
	"actor_id" uuid,
	"actor_name" text,
	"run_at" timestamp with time zone NOT NULL,
	CONSTRAINT "deeds_organization_id_id_pk" PRIMARY KEY("organization_id","id"),
	CONSTRAINT "deeds_kind" CHECK ("deeds"."kind" in ('merge contacts', 'erase contact', 'delete contact', 'delete company', 'give company')),
	CONSTRAINT "deeds_actor_type" CHECK ("deeds"."actor_type" in ('user', 'api_key', 'contact', 'system'))
);
--> statement-breakpoint
ALTER TABLE "contacts" ADD COLUMN "deed_id" uuid;--> statement-breakpoint
CREATE INDEX "deeds_run" ON "deeds" USING btree ("run_at");