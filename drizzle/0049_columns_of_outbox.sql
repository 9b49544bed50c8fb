ALTER TABLE "outbox" ADD COLUMN "place" bigint;--> statement-breakpoint
ALTER TABLE "outbox" ADD COLUMN "nth" integer;
--> statement-breakpoint
-- Safe beside older processes: the outbox has only the work that is left, and the index only what is parked.
CREATE INDEX "outbox_waiting" ON "outbox" USING btree ("lane_id","place","nth") WHERE "outbox"."run_at" = 'infinity';
