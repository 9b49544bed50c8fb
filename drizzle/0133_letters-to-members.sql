ALTER TABLE "letters" ALTER COLUMN "recipient" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "letters" ALTER COLUMN "sealed_text" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "drafts" ADD COLUMN "mentions" jsonb DEFAULT '[]'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "letters" ADD COLUMN "member_id" uuid;--> statement-breakpoint
ALTER TABLE "letters" ADD COLUMN "news" jsonb;--> statement-breakpoint
ALTER TABLE "letters" ADD COLUMN "closed_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "memberships" ADD COLUMN "notify" text[] DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE "messages" ADD COLUMN "mentions" jsonb DEFAULT '[]'::jsonb NOT NULL;--> statement-breakpoint
-- Safe beside older processes: letters that wait are few, and theirs have no member.
CREATE UNIQUE INDEX "letters_open" ON "letters" USING btree ("organization_id","member_id","about_id") WHERE "letters"."closed_at" is null;--> statement-breakpoint
-- Safe beside older processes: an organization has few members.
CREATE INDEX "memberships_new_unassigned" ON "memberships" USING btree ("organization_id") WHERE 'new_unassigned' = any("memberships"."notify");