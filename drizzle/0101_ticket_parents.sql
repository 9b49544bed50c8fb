ALTER TABLE "tickets" ADD COLUMN "parent_id" uuid;--> statement-breakpoint
-- Safe beside older processes: no row has a parent yet, so that it only reads the table, a million rows in a second.
CREATE INDEX "tickets_parent" ON "tickets" USING btree ("organization_id","parent_id","id") WHERE parent_id is not null;