-- Safe beside older processes: no row is written, and a statement that has another type of result now is sent again.
ALTER TABLE "invitations" ALTER COLUMN "hourly_rate" SET DATA TYPE numeric;
