ALTER TABLE "attachments" ADD CONSTRAINT "attachments_draft_fk" FOREIGN KEY ("organization_id","draft_id") REFERENCES "public"."drafts"("organization_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
-- Safe beside older processes: the column is new, so the index is empty, and one look at each row builds it.
CREATE INDEX "attachments_draft" ON "attachments" USING btree ("organization_id","draft_id") WHERE "attachments"."draft_id" is not null;
