CREATE TABLE "invitation_letters" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"email_key" text NOT NULL,
	"sent_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "invitation_letters_organization_id_id_pk" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE INDEX "invitation_letters_organization" ON "invitation_letters" USING btree ("organization_id","sent_at");--> statement-breakpoint
CREATE INDEX "invitation_letters_address" ON "invitation_letters" USING btree ("email_key","sent_at");