ALTER TABLE "messages" ADD COLUMN "directs_answers" boolean;--> statement-breakpoint
ALTER TABLE "participants" ADD COLUMN "left_out" boolean DEFAULT false NOT NULL;