ALTER TABLE "outbox" DROP CONSTRAINT "outbox_kind";--> statement-breakpoint
ALTER TABLE "drafts" ADD COLUMN "written_by" jsonb;--> statement-breakpoint
ALTER TABLE "drafts" ADD COLUMN "is_taken" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "drafts" ADD COLUMN "send_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "drafts" ADD COLUMN "unless_answered" boolean DEFAULT true NOT NULL;--> statement-breakpoint
ALTER TABLE "drafts" ADD COLUMN "send_error" text;--> statement-breakpoint
ALTER TABLE "drafts" ADD CONSTRAINT "drafts_send_error" CHECK ("send_error" in ('DRAFT_STALE', 'USER_NOT_FOUND', 'TICKET_MERGED', 'INVALID_STATUS', 'EMAIL_SEND_FAILED', 'ATTACHMENT_INFECTED'));--> statement-breakpoint
ALTER TABLE "outbox" ADD CONSTRAINT "outbox_kind" CHECK ("kind" in ('webhook', 'email', 'inbound', 'letter', 'wake', 'draft'));