ALTER TABLE "messages" ADD COLUMN "mailbox_id" uuid;--> statement-breakpoint
ALTER TABLE "messages" ADD COLUMN "email_attempts" integer;--> statement-breakpoint
ALTER TABLE "messages" ADD COLUMN "server_response" text;--> statement-breakpoint

-- Safe beside older processes: new messages wait while it is built, some seconds for a million.
CREATE INDEX "messages_outbound" ON "messages" USING btree ("organization_id","id","ticket_id") WHERE "messages"."email_status" <> 'none';--> statement-breakpoint

-- Safe beside older processes: new messages wait while it is built, some seconds for a million.
CREATE INDEX "messages_undelivered" ON "messages" USING btree ("organization_id","email_status","id") WHERE "messages"."email_status" in ('queued', 'failed', 'bounced');--> statement-breakpoint

-- Safe beside older processes: the column is new, so one look at the table builds the empty index.
CREATE INDEX "messages_mailbox" ON "messages" USING btree ("organization_id","mailbox_id","id") WHERE "messages"."mailbox_id" is not null;