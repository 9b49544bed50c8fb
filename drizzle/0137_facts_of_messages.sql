CREATE FUNCTION message_facts() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
	ticket ticket_facts;
	is_first boolean;
BEGIN
	SELECT * INTO ticket FROM ticket_facts
	WHERE organization_id = new.organization_id AND ticket_id = new.ticket_id AND kind = 'created';
	-- A ticket of before the facts is filled later, with its replies.
	IF NOT FOUND THEN RETURN NULL; END IF;
	IF new.begins_ticket THEN
		is_first := true;
	ELSE
		PERFORM FROM ticket_facts
		WHERE organization_id = new.organization_id AND ticket_id = new.ticket_id AND kind IN ('began', 'replied')
			AND seconds IS NOT NULL;
		is_first := NOT FOUND AND new.created_at >= ticket.at;
	END IF;
	INSERT INTO ticket_facts (organization_id, at, ticket_id, kind, seconds, user_id, hidden,
		assignee_id, team_id, mailbox_id, company_id, priority, label_ids)
	VALUES (new.organization_id, new.created_at, new.ticket_id, CASE WHEN new.begins_ticket THEN 'began' ELSE 'replied' END,
		CASE WHEN is_first THEN floor(date_part('epoch', new.created_at)) - floor(date_part('epoch', ticket.at)) END,
		new.author_id, ticket.hidden, ticket.assignee_id, ticket.team_id, ticket.mailbox_id, ticket.company_id,
		ticket.priority, ticket.label_ids);
	RETURN NULL;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION message_facts() IS 'Notes replies of the team for reports.';
--> statement-breakpoint
CREATE TRIGGER messages_facts AFTER INSERT ON messages FOR EACH ROW
	WHEN (new.direction = 'outbound' AND NOT new.auto_reply)
	EXECUTE FUNCTION message_facts();
