ALTER TABLE "attachments" ADD COLUMN "scan" text;--> statement-breakpoint

-- Safe beside older processes: the column is new, so one look at the table builds the empty index.
CREATE INDEX "attachments_pending" ON "attachments" USING btree ("organization_id","id") WHERE "scan" = 'pending';--> statement-breakpoint

-- Not validated: that would read all attachments while nobody may write one. All have null there.
ALTER TABLE "attachments" ADD CONSTRAINT "attachments_scan" CHECK ("scan" in ('clean', 'infected', 'pending', 'skipped')) NOT VALID;
