ALTER TABLE "inbound_messages" DROP CONSTRAINT "inbound_messages_outcome";--> statement-breakpoint
ALTER TABLE "inbound_messages" ALTER COLUMN "envelope_sender" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "inbound_messages" ADD COLUMN "spam_score" real;--> statement-breakpoint
ALTER TABLE "inbound_messages" ADD COLUMN "spam_by" text;--> statement-breakpoint
ALTER TABLE "inbound_messages" ADD CONSTRAINT "inbound_messages_spam_by" CHECK ("spam_by" in ('relay', 'rspamd', 'sender_rule'));--> statement-breakpoint
ALTER TABLE "inbound_messages" ADD CONSTRAINT "inbound_messages_outcome" CHECK ("outcome" in ('pending', 'ticket', 'message', 'bounce', 'duplicate', 'own', 'unmatched_bounce', 'unparsed', 'spam'));