-- Tickets that were erased before the column was there: what customers wrote is no such mark.
UPDATE tickets t SET erased_at = t.updated_at
WHERE t.subject = '[erased]' AND t.external_id IS NULL AND NOT EXISTS (
	SELECT 1 FROM messages m WHERE m.organization_id = t.organization_id AND m.ticket_id = t.id
		AND (m.body <> '[erased]' OR m.direction = 'inbound' AND m.sender_email IS NOT NULL)
);--> statement-breakpoint

-- Safe beside older processes: changes of tickets wait while it is built, some seconds for a million.
CREATE INDEX "tickets_resting" ON "tickets" USING btree ("organization_id","status","updated_at","id","company_id","erased_at") WHERE "tickets"."deleted_at" is null and "tickets"."merged_into_id" is null and "tickets"."status" in ('resolved', 'closed');
