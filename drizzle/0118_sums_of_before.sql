DROP INDEX "time_entries_date";
--> statement-breakpoint
DROP INDEX "time_entries_company";
--> statement-breakpoint
DROP INDEX "time_entries_user";
