CREATE TABLE "rating_requests" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"ticket_id" uuid NOT NULL,
	"is_automatic" boolean NOT NULL,
	"sent_at" timestamp with time zone,
	"contact_id" uuid,
	CONSTRAINT "rating_requests_organization_id_id_pk" PRIMARY KEY("organization_id","id")
);--> statement-breakpoint
ALTER TABLE "rating_requests" ADD CONSTRAINT "rating_requests_ticket_fk" FOREIGN KEY ("organization_id","ticket_id") REFERENCES "public"."tickets"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "rating_requests_ticket" ON "rating_requests" USING btree ("organization_id","ticket_id");