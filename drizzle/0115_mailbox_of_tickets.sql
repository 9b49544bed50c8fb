-- Safe beside older processes: a million tickets take some seconds, in which writes wait.
CREATE INDEX "tickets_mailbox" ON "tickets" USING btree ("organization_id","mailbox_id","id") WHERE "tickets"."deleted_at" is null;
