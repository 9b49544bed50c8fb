-- Written by hand.
DROP INDEX "time_entries_date";
--> statement-breakpoint
DROP INDEX "time_entries_user";
--> statement-breakpoint
-- Safe beside older processes: no statement names an index.
ALTER INDEX "time_entries_date_sums" RENAME TO "time_entries_date";
--> statement-breakpoint
-- Safe beside older processes: no statement names an index.
ALTER INDEX "time_entries_user_sums" RENAME TO "time_entries_user";
