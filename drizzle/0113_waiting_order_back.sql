-- Safe beside older processes: a million tickets take some seconds, in which writes wait.
CREATE INDEX "tickets_waiting_since_desc" ON "tickets" USING btree ("organization_id",coalesce(case when status in ('open', 'pending') then waiting_message_id end, '00000000-0000-0000-0000-000000000000'::uuid),"id") WHERE "tickets"."deleted_at" is null;
