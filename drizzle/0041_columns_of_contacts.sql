ALTER TABLE "contacts" ADD COLUMN "external_id" text;
--> statement-breakpoint
-- Safe beside older processes: the column is new, so the index is empty and built in a moment.
CREATE UNIQUE INDEX "contacts_external_id" ON "contacts" USING btree ("organization_id","external_id") WHERE "contacts"."external_id" is not null;--> statement-breakpoint
ALTER TABLE "contacts" ADD COLUMN "custom" jsonb DEFAULT '{}'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "contacts" ADD COLUMN "custom_words" uuid[];
--> statement-breakpoint
-- Safe beside older processes: no row has words yet, so that the index is empty and is built by one look at the table.
CREATE INDEX "contacts_custom" ON "contacts" USING gin ("custom_words") WHERE "contacts"."custom_words" is not null;
