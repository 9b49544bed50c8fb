-- Safe beside older processes: a million tickets take some seconds, in which writes wait.
CREATE INDEX "tickets_last_message_at_asc" ON "tickets" USING btree ("organization_id",coalesce(last_message_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid),"id") WHERE "tickets"."deleted_at" is null;
