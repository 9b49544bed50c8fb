CREATE TABLE "account_entries" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"entry" jsonb NOT NULL,
	CONSTRAINT "account_entries_organization_id_id_pk" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE INDEX "account_entries_user" ON "account_entries" USING btree ("user_id");