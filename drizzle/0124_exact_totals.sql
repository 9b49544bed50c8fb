-- Safe beside older processes: no row is written, and sums of it have no scale of their own.
ALTER TABLE "time_totals" ALTER COLUMN "amount" SET DATA TYPE numeric;
