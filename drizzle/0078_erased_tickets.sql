ALTER TABLE "tickets" ADD COLUMN "erased_at" timestamp with time zone;
