-- Safe beside older processes: no row is written, and a statement that has another type of result now is sent again.
ALTER TABLE "timers" ALTER COLUMN "rate" SET DATA TYPE numeric;
