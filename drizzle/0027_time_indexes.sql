-- Written by hand. Beside the indexes of before, which are dropped next: reads of time entries go on.
-- Safe beside older processes: writes of time entries wait, some seconds for a million.
CREATE INDEX "time_entries_company" ON "time_entries" USING btree ("organization_id","company_id","date","id")
	INCLUDE ("duration_minutes","billable","amount","currency");
--> statement-breakpoint
-- Safe beside older processes: writes of time entries wait, as above.
CREATE INDEX "time_entries_date_sums" ON "time_entries" USING btree ("organization_id","date","id")
	INCLUDE ("company_id","user_id","duration_minutes","billable","amount","currency");
--> statement-breakpoint
-- Safe beside older processes: writes of time entries wait, as above.
CREATE INDEX "time_entries_user_sums" ON "time_entries" USING btree ("organization_id","user_id","date","id")
	INCLUDE ("duration_minutes","billable","amount","currency");
