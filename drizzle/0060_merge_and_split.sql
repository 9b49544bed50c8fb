ALTER TABLE "drafts" ADD COLUMN "original_ticket_id" uuid;
--> statement-breakpoint
-- Time that a merge has moved keeps the company of the ticket that it was logged on.
CREATE OR REPLACE FUNCTION pass_company_to_time() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	UPDATE time_entries SET company_id = new.company_id
	WHERE organization_id = new.organization_id AND ticket_id = coalesce(new.merged_into_id, new.id)
		AND coalesce(original_ticket_id, ticket_id) = new.id AND company_id IS DISTINCT FROM new.company_id;
	RETURN NULL;
END $$;
