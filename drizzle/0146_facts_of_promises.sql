CREATE FUNCTION promise_facts() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
	promise promises;
	ticket ticket_facts;
	result text;
	result_at timestamptz;
BEGIN
	IF TG_OP = 'DELETE' THEN promise := old; ELSE promise := new; END IF;
	IF TG_OP <> 'INSERT' THEN
		DELETE FROM ticket_facts
		WHERE organization_id = promise.organization_id AND ticket_id = promise.ticket_id AND promise_id = promise.id;
	END IF;
	IF TG_OP = 'DELETE' THEN RETURN NULL; END IF;
	IF promise.outcome = 'kept' THEN
		result := 'kept';
		result_at := promise.ended_at;
	ELSIF promise.outcome IS DISTINCT FROM 'void' THEN
		result := 'breached';
		result_at := coalesce(promise.breached_at, promise.ended_at);
	END IF;
	IF result_at IS NULL THEN RETURN NULL; END IF;
	SELECT * INTO ticket FROM ticket_facts
	WHERE organization_id = promise.organization_id AND ticket_id = promise.ticket_id AND kind = 'created';
	-- A ticket of before the facts is filled later, with its promises.
	IF NOT FOUND THEN RETURN NULL; END IF;
	INSERT INTO ticket_facts (organization_id, at, ticket_id, kind, promise_id, hidden,
		assignee_id, team_id, mailbox_id, company_id, priority, label_ids)
	VALUES (promise.organization_id, result_at, promise.ticket_id, result, promise.id, ticket.hidden,
		ticket.assignee_id, ticket.team_id, ticket.mailbox_id, ticket.company_id, ticket.priority, ticket.label_ids);
	RETURN NULL;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION promise_facts() IS 'Notes for reports which promises were kept and which breached.';
--> statement-breakpoint
CREATE TRIGGER promises_facts_come AFTER INSERT ON promises FOR EACH ROW
	WHEN (new.outcome IS NOT NULL OR new.breached_at IS NOT NULL) EXECUTE FUNCTION promise_facts();
--> statement-breakpoint
CREATE TRIGGER promises_facts_change AFTER UPDATE OF breached_at, ended_at, outcome ON promises FOR EACH ROW
	WHEN ((old.breached_at, old.ended_at, old.outcome) IS DISTINCT FROM (new.breached_at, new.ended_at, new.outcome))
	EXECUTE FUNCTION promise_facts();
--> statement-breakpoint
CREATE TRIGGER promises_facts_go AFTER DELETE ON promises FOR EACH ROW EXECUTE FUNCTION promise_facts();
