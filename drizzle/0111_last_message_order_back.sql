-- Safe beside older processes: a million tickets take some seconds, in which writes wait.
CREATE INDEX "tickets_last_message_at_desc" ON "tickets" USING btree ("organization_id",coalesce(last_message_id, '00000000-0000-0000-0000-000000000000'::uuid),"id") WHERE "tickets"."deleted_at" is null;
