-- Safe beside older processes: a million entries take some seconds, in which writes wait.
CREATE INDEX "time_entries_of_days" ON "time_entries" USING btree ("organization_id","date","id") INCLUDE (company_id, user_id, duration_minutes, billable, amount, currency, exact_rate, decimals);
--> statement-breakpoint
-- Safe beside older processes: a million entries take some seconds, in which writes wait.
CREATE INDEX "time_entries_of_company" ON "time_entries" USING btree ("organization_id","company_id","date","id") INCLUDE (duration_minutes, billable, amount, currency, exact_rate, decimals);
--> statement-breakpoint
-- Safe beside older processes: a million entries take some seconds, in which writes wait.
CREATE INDEX "time_entries_of_user" ON "time_entries" USING btree ("organization_id","user_id","date","id") INCLUDE (duration_minutes, billable, amount, currency, exact_rate, decimals);
