CREATE TABLE "drafts" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"ticket_id" uuid NOT NULL,
	"author_type" text NOT NULL,
	"author_id" uuid NOT NULL,
	"body" text NOT NULL,
	"body_html" text NOT NULL,
	"text" text NOT NULL,
	"is_internal" boolean NOT NULL,
	"cc" text[],
	"based_on" uuid,
	"created_at" timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "drafts_organization_id_id_pk" PRIMARY KEY("organization_id","id"),
	CONSTRAINT "drafts_author_type" CHECK ("drafts"."author_type" in ('user', 'api_key'))
);
--> statement-breakpoint
CREATE TABLE "macros" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"name" text NOT NULL,
	"body" text,
	"is_internal" boolean DEFAULT false NOT NULL,
	"changes" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"created_at" timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "macros_organization_id_id_pk" PRIMARY KEY("organization_id","id")
);--> statement-breakpoint
ALTER TABLE "drafts" ADD CONSTRAINT "drafts_ticket_fk" FOREIGN KEY ("organization_id","ticket_id") REFERENCES "public"."tickets"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "macros" ADD CONSTRAINT "macros_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "drafts_ticket" ON "drafts" USING btree ("organization_id","ticket_id","id");--> statement-breakpoint
CREATE INDEX "drafts_author" ON "drafts" USING btree ("organization_id","author_id","id");--> statement-breakpoint
CREATE UNIQUE INDEX "macros_name" ON "macros" USING btree ("organization_id",lower("name"));
