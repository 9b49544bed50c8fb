-- Safe beside older processes: a million tickets take some seconds, in which writes wait.
CREATE INDEX "tickets_assignee_news" ON "tickets" USING btree ("organization_id","assignee_id","last_message_id","id") WHERE "tickets"."deleted_at" is null;
