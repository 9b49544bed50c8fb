ALTER TABLE "tickets" ADD COLUMN "merged_into_id" uuid;--> statement-breakpoint
ALTER TABLE "tickets" ADD COLUMN "merged_first_into_id" uuid;--> statement-breakpoint
ALTER TABLE "tickets" ADD COLUMN "merged_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "tickets" ADD COLUMN "status_before_merge" text;--> statement-breakpoint
ALTER TABLE "tickets" ADD COLUMN "split_from_id" uuid;
--> statement-breakpoint
-- Safe beside older processes: no ticket is merged yet, so the index is empty and only the table is read once.
CREATE INDEX "tickets_merged" ON "tickets" USING btree ("organization_id","merged_into_id","id") WHERE "tickets"."merged_into_id" is not null;--> statement-breakpoint
ALTER TABLE "tickets" ADD COLUMN "external_id" text;
--> statement-breakpoint
-- Safe beside older processes: the column is new, so the index is empty and built in a moment.
CREATE UNIQUE INDEX "tickets_external_id" ON "tickets" USING btree ("organization_id","external_id") WHERE "tickets"."external_id" is not null and "tickets"."deleted_at" is null;--> statement-breakpoint
ALTER TABLE "tickets" ADD COLUMN "custom" jsonb DEFAULT '{}'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "tickets" ADD COLUMN "custom_words" uuid[];
