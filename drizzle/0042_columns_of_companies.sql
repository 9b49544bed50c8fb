ALTER TABLE "companies" ADD COLUMN "external_id" text;
--> statement-breakpoint
-- Safe beside older processes: the column is new, so the index is empty and built in a moment.
CREATE UNIQUE INDEX "companies_external_id" ON "companies" USING btree ("organization_id","external_id") WHERE "companies"."external_id" is not null;--> statement-breakpoint
ALTER TABLE "companies" ADD COLUMN "custom" jsonb DEFAULT '{}'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "companies" ADD COLUMN "custom_words" uuid[];
--> statement-breakpoint
-- Safe beside older processes: no row has words yet, so that the index is empty and is built by one look at the table.
CREATE INDEX "companies_custom" ON "companies" USING gin ("custom_words") WHERE "companies"."custom_words" is not null;
