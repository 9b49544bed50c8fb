CREATE TABLE "message_pictures" (
	"organization_id" uuid NOT NULL,
	"message_id" uuid NOT NULL,
	"attachment_id" uuid NOT NULL,
	CONSTRAINT "message_pictures_organization_id_message_id_attachment_id_pk" PRIMARY KEY("organization_id","message_id","attachment_id")
);
--> statement-breakpoint
ALTER TABLE "message_pictures" ADD CONSTRAINT "message_pictures_message_fk" FOREIGN KEY ("organization_id","message_id") REFERENCES "public"."messages"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "message_pictures_attachment" ON "message_pictures" USING btree ("organization_id","attachment_id");