ALTER TABLE "timers" ADD COLUMN "original_ticket_id" uuid;
