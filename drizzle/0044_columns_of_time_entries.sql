ALTER TABLE "time_entries" ADD COLUMN "original_ticket_id" uuid;
