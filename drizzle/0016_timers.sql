CREATE TABLE "timers" (
	"organization_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"ticket_id" uuid NOT NULL,
	"description" text,
	"billable" boolean NOT NULL,
	"rate" numeric(9, 2),
	"started_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	CONSTRAINT "timers_organization_id_user_id_pk" PRIMARY KEY("organization_id","user_id"),
	CONSTRAINT "timers_rate" CHECK ("timers"."rate" between 0 and 1000000)
);
--> statement-breakpoint
ALTER TABLE "timers" ADD CONSTRAINT "timers_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "timers" ADD CONSTRAINT "timers_ticket_fk" FOREIGN KEY ("organization_id","ticket_id") REFERENCES "public"."tickets"("organization_id","id") ON DELETE restrict ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "timers" ADD CONSTRAINT "timers_user_fk" FOREIGN KEY ("organization_id","user_id") REFERENCES "public"."memberships"("organization_id","user_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "timers_id" ON "timers" USING btree ("organization_id","id");--> statement-breakpoint
CREATE INDEX "timers_ticket" ON "timers" USING btree ("organization_id","ticket_id");