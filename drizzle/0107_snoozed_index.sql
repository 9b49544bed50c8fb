-- Safe beside older processes: no ticket sleeps yet, so that it only reads the table.
CREATE INDEX "tickets_snoozed" ON "tickets" USING btree ("organization_id","id") WHERE snoozed_until is not null;