ALTER TABLE "participants" ADD COLUMN "left_out" boolean DEFAULT false NOT NULL;
