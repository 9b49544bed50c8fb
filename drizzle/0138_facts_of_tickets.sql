CREATE FUNCTION new_ticket_facts() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
	INSERT INTO ticket_facts (organization_id, at, ticket_id, kind, hidden,
		assignee_id, team_id, mailbox_id, company_id, priority)
	VALUES (new.organization_id, new.created_at, new.id, 'created', false,
		new.assignee_id, new.team_id, new.mailbox_id, new.company_id, new.priority);
	IF new.status IN ('resolved', 'closed') THEN
		-- An import knows no better time than that of the last change.
		INSERT INTO ticket_facts (organization_id, at, ticket_id, kind, seconds, hidden,
			assignee_id, team_id, mailbox_id, company_id, priority)
		VALUES (new.organization_id, greatest(new.updated_at, new.created_at), new.id, 'resolved',
			floor(date_part('epoch', greatest(new.updated_at, new.created_at))) - floor(date_part('epoch', new.created_at)),
			false, new.assignee_id, new.team_id, new.mailbox_id, new.company_id, new.priority);
	END IF;
	IF new.rated_at IS NOT NULL THEN
		INSERT INTO ticket_facts (organization_id, at, ticket_id, kind, hidden,
			assignee_id, team_id, mailbox_id, company_id, priority)
		VALUES (new.organization_id, new.rated_at, new.id, new.rating_score, false,
			new.assignee_id, new.team_id, new.mailbox_id, new.company_id, new.priority);
	END IF;
	RETURN NULL;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION new_ticket_facts() IS 'Notes new tickets for reports.';
--> statement-breakpoint
CREATE FUNCTION status_facts() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
	ticket ticket_facts;
	is_over boolean := new.status IN ('resolved', 'closed');
	changed_at timestamptz := greatest(new.updated_at, new.created_at);
BEGIN
	SELECT * INTO ticket FROM ticket_facts
	WHERE organization_id = new.organization_id AND ticket_id = new.id AND kind = 'created';
	-- A ticket of before the facts is filled later, by its timeline.
	IF NOT FOUND THEN RETURN NULL; END IF;
	INSERT INTO ticket_facts (organization_id, at, ticket_id, kind, seconds, hidden,
		assignee_id, team_id, mailbox_id, company_id, priority, label_ids)
	VALUES (new.organization_id, changed_at, new.id, CASE WHEN is_over THEN 'resolved' ELSE 'reopened' END,
		CASE WHEN is_over THEN floor(date_part('epoch', changed_at)) - floor(date_part('epoch', new.created_at)) END,
		ticket.hidden, new.assignee_id, new.team_id, new.mailbox_id, new.company_id, new.priority, ticket.label_ids);
	RETURN NULL;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION status_facts() IS 'Notes for reports that tickets are resolved or opened again.';
--> statement-breakpoint
CREATE FUNCTION rating_facts() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
	ticket ticket_facts;
BEGIN
	DELETE FROM ticket_facts
	WHERE organization_id = new.organization_id AND ticket_id = new.id AND kind IN ('good', 'bad');
	SELECT * INTO ticket FROM ticket_facts
	WHERE organization_id = new.organization_id AND ticket_id = new.id AND kind = 'created';
	IF NOT FOUND OR new.rated_at IS NULL THEN RETURN NULL; END IF;
	INSERT INTO ticket_facts (organization_id, at, ticket_id, kind, hidden,
		assignee_id, team_id, mailbox_id, company_id, priority, label_ids)
	VALUES (new.organization_id, new.rated_at, new.id, new.rating_score, ticket.hidden, new.assignee_id, new.team_id,
		new.mailbox_id, new.company_id, new.priority, ticket.label_ids);
	RETURN NULL;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION rating_facts() IS 'Notes for reports the newest rating of a ticket.';
--> statement-breakpoint
CREATE FUNCTION group_facts() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
	UPDATE ticket_facts
	SET assignee_id = new.assignee_id, team_id = new.team_id, mailbox_id = new.mailbox_id, company_id = new.company_id,
		priority = new.priority, hidden = new.deleted_at IS NOT NULL OR new.merged_first_into_id IS NOT NULL
	WHERE organization_id = new.organization_id AND ticket_id = new.id;
	RETURN NULL;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION group_facts() IS 'Keeps in the facts of a ticket its groups, and that it is deleted or merged.';
--> statement-breakpoint
CREATE TRIGGER tickets_facts_come AFTER INSERT ON tickets FOR EACH ROW EXECUTE FUNCTION new_ticket_facts();
--> statement-breakpoint
CREATE TRIGGER tickets_facts_groups
	AFTER UPDATE OF assignee_id, team_id, mailbox_id, company_id, priority, deleted_at, merged_first_into_id ON tickets
	FOR EACH ROW
	WHEN ((old.assignee_id, old.team_id, old.mailbox_id, old.company_id, old.priority, old.deleted_at IS NULL,
			old.merged_first_into_id IS NULL)
		IS DISTINCT FROM (new.assignee_id, new.team_id, new.mailbox_id, new.company_id, new.priority,
			new.deleted_at IS NULL, new.merged_first_into_id IS NULL))
	EXECUTE FUNCTION group_facts();
--> statement-breakpoint
-- A merge closes its sources, and its undoing opens them: that is neither resolved nor opened again.
CREATE TRIGGER tickets_facts_status AFTER UPDATE OF status ON tickets FOR EACH ROW
	WHEN ((old.status IN ('open', 'pending')) <> (new.status IN ('open', 'pending'))
		AND old.merged_first_into_id IS NULL AND new.merged_first_into_id IS NULL)
	EXECUTE FUNCTION status_facts();
--> statement-breakpoint
CREATE TRIGGER tickets_facts_rating AFTER UPDATE OF rating_score, rated_at ON tickets FOR EACH ROW
	WHEN ((old.rating_score, old.rated_at) IS DISTINCT FROM (new.rating_score, new.rated_at))
	EXECUTE FUNCTION rating_facts();
--> statement-breakpoint
INSERT INTO ticket_fact_fills (organization_id, before_id)
SELECT id, 'ffffffff-ffff-ffff-ffff-ffffffffffff' FROM organizations;
