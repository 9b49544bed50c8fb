CREATE TABLE "viewers" (
	"organization_id" uuid NOT NULL,
	"ticket_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"writing" boolean NOT NULL,
	"seen_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "viewers_organization_id_ticket_id_user_id_pk" PRIMARY KEY("organization_id","ticket_id","user_id")
);
--> statement-breakpoint
ALTER TABLE "viewers" ADD CONSTRAINT "viewers_ticket_fk" FOREIGN KEY ("organization_id","ticket_id") REFERENCES "public"."tickets"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "viewers_age" ON "viewers" USING btree ("seen_at");