CREATE TABLE "message_quotes" (
	"organization_id" uuid NOT NULL,
	"message_id" uuid NOT NULL,
	"piece" integer NOT NULL,
	"source_id" uuid NOT NULL,
	"source_ticket_id" uuid NOT NULL,
	"contact_id" uuid,
	"sender_key" text,
	"body_length" integer,
	"html_length" integer,
	"attachment_ids" uuid[] DEFAULT '{}' NOT NULL,
	CONSTRAINT "message_quotes_organization_id_message_id_piece_source_id_pk" PRIMARY KEY("organization_id","message_id","piece","source_id")
);
--> statement-breakpoint
ALTER TABLE "message_quotes" ADD CONSTRAINT "message_quotes_message_fk" FOREIGN KEY ("organization_id","message_id") REFERENCES "public"."messages"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "message_quotes_source" ON "message_quotes" USING btree ("organization_id","source_id");--> statement-breakpoint
CREATE INDEX "message_quotes_ticket" ON "message_quotes" USING btree ("organization_id","source_ticket_id");--> statement-breakpoint
CREATE INDEX "message_quotes_contact" ON "message_quotes" USING btree ("organization_id","contact_id") WHERE "message_quotes"."contact_id" is not null;--> statement-breakpoint
CREATE INDEX "message_quotes_sender" ON "message_quotes" USING btree ("organization_id","sender_key") WHERE "message_quotes"."sender_key" is not null;