-- Safe beside older processes: new messages wait while it is built, some seconds for a million.
CREATE INDEX "message_recipients_email" ON "message_recipients" USING btree ("organization_id","email_key","message_id");--> statement-breakpoint

-- Safe beside older processes: new messages wait while it is built, some seconds for a million.
CREATE INDEX "message_recipients_domain" ON "message_recipients" USING btree ("organization_id",substring("email_key" from '[^@]*$'),"message_id");