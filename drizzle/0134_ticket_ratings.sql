ALTER TABLE "tickets" ADD COLUMN "rating_score" text;--> statement-breakpoint
ALTER TABLE "tickets" ADD COLUMN "rating_comment" text;--> statement-breakpoint
ALTER TABLE "tickets" ADD COLUMN "rated_at" timestamp with time zone;--> statement-breakpoint
-- Safe beside older processes: a million tickets take some seconds, in which writes wait.
CREATE INDEX "tickets_rating" ON "tickets" USING btree ("organization_id","rating_score","id") WHERE "tickets"."deleted_at" is null and rating_score is not null;--> statement-breakpoint
ALTER TABLE "tickets" ADD CONSTRAINT "tickets_rating_score" CHECK ("rating_score" in ('good', 'bad'));