CREATE TABLE "read_marks" (
	"organization_id" uuid NOT NULL,
	"ticket_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"message_id" uuid,
	"marked_at" timestamp with time zone DEFAULT now() NOT NULL,
	"unread" boolean NOT NULL,
	CONSTRAINT "read_marks_organization_id_ticket_id_user_id_pk" PRIMARY KEY("organization_id","ticket_id","user_id")
);
--> statement-breakpoint
ALTER TABLE "read_marks" ADD CONSTRAINT "read_marks_ticket_fk" FOREIGN KEY ("organization_id","ticket_id") REFERENCES "public"."tickets"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "read_marks_person" ON "read_marks" USING btree ("organization_id","user_id","unread","ticket_id");