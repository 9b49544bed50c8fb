-- Safe beside older processes: a million tickets take some seconds, in which writes wait.
CREATE INDEX "tickets_waiting_since_asc" ON "tickets" USING btree ("organization_id",coalesce(case when status in ('open', 'pending') then waiting_message_id end, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid),"id") WHERE "tickets"."deleted_at" is null;
