-- Safe beside older processes: a million tickets take some seconds, in which writes wait.
CREATE INDEX "tickets_due_at_asc" ON "tickets" USING btree ("organization_id",coalesce(sla_due_at, 'infinity'::timestamptz),"id") WHERE "tickets"."deleted_at" is null;--> statement-breakpoint
-- Safe beside older processes: a million tickets take some seconds, in which writes wait.
CREATE INDEX "tickets_due_at_desc" ON "tickets" USING btree ("organization_id",coalesce(sla_due_at, '-infinity'::timestamptz),"id") WHERE "tickets"."deleted_at" is null;