CREATE TABLE "rule_runs" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"ticket_id" uuid NOT NULL,
	"rule_ids" uuid[] NOT NULL,
	"message_id" uuid,
	"tries" integer DEFAULT 0 NOT NULL,
	CONSTRAINT "rule_runs_organization_id_id_pk" PRIMARY KEY("organization_id","id"),
	CONSTRAINT "rule_runs_rules" CHECK (cardinality("rule_runs"."rule_ids") > 0)
);--> statement-breakpoint
CREATE TABLE "rules" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"name" text NOT NULL,
	"on" text NOT NULL,
	"filter" jsonb,
	"macro_id" uuid,
	"active" boolean DEFAULT true NOT NULL,
	"status" text DEFAULT 'active' NOT NULL,
	"failed_ticket_ids" uuid[] DEFAULT '{}' NOT NULL,
	"failure_told_at" timestamp with time zone,
	"created_at" timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "rules_organization_id_id_pk" PRIMARY KEY("organization_id","id"),
	CONSTRAINT "rules_status" CHECK ("rules"."status" in ('active', 'failed')),
	CONSTRAINT "rules_has_macro" CHECK ("rules"."macro_id" is not null or not "rules"."active")
);--> statement-breakpoint
ALTER TABLE "rule_runs" ADD CONSTRAINT "rule_runs_ticket_fk" FOREIGN KEY ("organization_id","ticket_id") REFERENCES "public"."tickets"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "rules" ADD CONSTRAINT "rules_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "rules" ADD CONSTRAINT "rules_macro_fk" FOREIGN KEY ("organization_id","macro_id") REFERENCES "public"."macros"("organization_id","id") ON DELETE restrict ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "rule_runs_ticket" ON "rule_runs" USING btree ("organization_id","ticket_id");--> statement-breakpoint
CREATE UNIQUE INDEX "rules_name" ON "rules" USING btree ("organization_id",lower("name"));--> statement-breakpoint
CREATE INDEX "rules_macro" ON "rules" USING btree ("organization_id","macro_id");