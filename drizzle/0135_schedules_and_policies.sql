CREATE TABLE "promises" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"ticket_id" uuid NOT NULL,
	"policy_id" uuid NOT NULL,
	"metric" text NOT NULL,
	"minutes" integer NOT NULL,
	"began_at" timestamp with time zone NOT NULL,
	"due_at" timestamp with time zone,
	"soon_at" timestamp with time zone,
	"breached_at" timestamp with time zone,
	"ended_at" timestamp with time zone,
	"outcome" text,
	"is_soon_told" boolean DEFAULT false NOT NULL,
	"is_breach_told" boolean DEFAULT false NOT NULL,
	CONSTRAINT "promises_organization_id_id_pk" PRIMARY KEY("organization_id","id"),
	CONSTRAINT "promises_metric" CHECK ("promises"."metric" in ('first_reply', 'next_reply', 'resolve')),
	CONSTRAINT "promises_outcome" CHECK ("promises"."outcome" in ('kept', 'breached', 'void')),
	CONSTRAINT "promises_end" CHECK ((ended_at is null) = (outcome is null))
);
--> statement-breakpoint
CREATE TABLE "schedules" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"name" text NOT NULL,
	"hours" jsonb NOT NULL,
	"holidays" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"created_at" timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "schedules_organization_id_id_pk" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "sla_policies" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"name" text NOT NULL,
	"position" integer NOT NULL,
	"filter" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"schedule_id" uuid,
	"targets" jsonb NOT NULL,
	"active" boolean DEFAULT true NOT NULL,
	"failure_told_at" timestamp with time zone,
	"created_at" timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "sla_policies_organization_id_id_pk" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
ALTER TABLE "promises" ADD CONSTRAINT "promises_ticket_fk" FOREIGN KEY ("organization_id","ticket_id") REFERENCES "public"."tickets"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "schedules" ADD CONSTRAINT "schedules_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sla_policies" ADD CONSTRAINT "sla_policies_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sla_policies" ADD CONSTRAINT "sla_policies_schedule_fk" FOREIGN KEY ("organization_id","schedule_id") REFERENCES "public"."schedules"("organization_id","id") ON DELETE set null ("schedule_id") ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "promises_ticket" ON "promises" USING btree ("organization_id","ticket_id","metric","began_at");--> statement-breakpoint
CREATE INDEX "promises_breached" ON "promises" USING btree ("organization_id","breached_at") WHERE breached_at is not null;--> statement-breakpoint
CREATE INDEX "promises_ended" ON "promises" USING btree ("organization_id","ended_at") WHERE ended_at is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "schedules_name" ON "schedules" USING btree ("organization_id",lower("name"));--> statement-breakpoint
CREATE UNIQUE INDEX "sla_policies_name" ON "sla_policies" USING btree ("organization_id",lower("name"));--> statement-breakpoint
CREATE UNIQUE INDEX "sla_policies_position" ON "sla_policies" USING btree ("organization_id","position");