ALTER TABLE "ticket_facts" ADD COLUMN "sla_policy_id" uuid;
--> statement-breakpoint
CREATE FUNCTION add_fact(fact ticket_facts) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
	INSERT INTO ticket_facts (organization_id, at, ticket_id, kind, seconds, user_id, promise_id, hidden,
		assignee_id, team_id, mailbox_id, company_id, priority, label_ids, sla_policy_id)
	VALUES (fact.organization_id, fact.at, fact.ticket_id, fact.kind, fact.seconds, fact.user_id, fact.promise_id,
		fact.hidden, fact.assignee_id, fact.team_id, fact.mailbox_id, fact.company_id, fact.priority, fact.label_ids,
		fact.sla_policy_id);
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION add_fact(ticket_facts) IS 'Adds a fact. The others of its ticket have the same groups.';
--> statement-breakpoint
CREATE OR REPLACE FUNCTION new_ticket_facts() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
	fact ticket_facts;
BEGIN
	fact.organization_id := new.organization_id;
	fact.ticket_id := new.id;
	fact.hidden := false;
	fact.assignee_id := new.assignee_id;
	fact.team_id := new.team_id;
	fact.mailbox_id := new.mailbox_id;
	fact.company_id := new.company_id;
	fact.priority := new.priority;
	fact.label_ids := '{}';
	fact.sla_policy_id := new.sla_policy_id;
	fact.at := new.created_at;
	fact.kind := 'created';
	PERFORM add_fact(fact);
	IF new.rated_at IS NOT NULL THEN
		fact.at := new.rated_at;
		fact.kind := new.rating_score;
		PERFORM add_fact(fact);
	END IF;
	IF new.status IN ('resolved', 'closed') THEN
		-- An import knows no better time than that of the last change.
		fact.at := greatest(new.updated_at, new.created_at);
		fact.kind := 'resolved';
		fact.seconds := floor(date_part('epoch', fact.at)) - floor(date_part('epoch', new.created_at));
		PERFORM add_fact(fact);
	END IF;
	RETURN NULL;
END $$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION message_facts() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
	fact ticket_facts;
	is_first boolean;
BEGIN
	SELECT * INTO fact FROM ticket_facts
	WHERE organization_id = new.organization_id AND ticket_id = new.ticket_id AND kind = 'created';
	-- A ticket of before the facts is filled later, with its replies.
	IF NOT FOUND THEN RETURN NULL; END IF;
	IF new.begins_ticket THEN
		is_first := true;
	ELSE
		PERFORM FROM ticket_facts
		WHERE organization_id = new.organization_id AND ticket_id = new.ticket_id AND kind IN ('began', 'replied')
			AND seconds IS NOT NULL;
		is_first := NOT FOUND AND new.created_at >= fact.at;
	END IF;
	IF is_first THEN
		fact.seconds := floor(date_part('epoch', new.created_at)) - floor(date_part('epoch', fact.at));
	END IF;
	fact.at := new.created_at;
	fact.kind := CASE WHEN new.begins_ticket THEN 'began' ELSE 'replied' END;
	fact.user_id := new.author_id;
	PERFORM add_fact(fact);
	RETURN NULL;
END $$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION status_facts() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
	fact ticket_facts;
BEGIN
	SELECT * INTO fact FROM ticket_facts
	WHERE organization_id = new.organization_id AND ticket_id = new.id AND kind = 'created';
	-- A ticket of before the facts is filled later, by its timeline.
	IF NOT FOUND THEN RETURN NULL; END IF;
	fact.at := greatest(new.updated_at, new.created_at);
	IF new.status IN ('resolved', 'closed') THEN
		fact.kind := 'resolved';
		fact.seconds := floor(date_part('epoch', fact.at)) - floor(date_part('epoch', new.created_at));
	ELSE
		fact.kind := 'reopened';
	END IF;
	PERFORM add_fact(fact);
	RETURN NULL;
END $$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION rating_facts() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
	fact ticket_facts;
BEGIN
	DELETE FROM ticket_facts
	WHERE organization_id = new.organization_id AND ticket_id = new.id AND kind IN ('good', 'bad');
	SELECT * INTO fact FROM ticket_facts
	WHERE organization_id = new.organization_id AND ticket_id = new.id AND kind = 'created';
	IF NOT FOUND OR new.rated_at IS NULL THEN RETURN NULL; END IF;
	fact.at := new.rated_at;
	fact.kind := new.rating_score;
	PERFORM add_fact(fact);
	RETURN NULL;
END $$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION promise_facts() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
	promise promises;
	fact ticket_facts;
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
	SELECT * INTO fact FROM ticket_facts
	WHERE organization_id = promise.organization_id AND ticket_id = promise.ticket_id AND kind = 'created';
	-- A ticket of before the facts is filled later, with its promises.
	IF NOT FOUND THEN RETURN NULL; END IF;
	fact.at := result_at;
	fact.kind := result;
	fact.promise_id := promise.id;
	PERFORM add_fact(fact);
	RETURN NULL;
END $$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION group_facts() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
	UPDATE ticket_facts
	SET assignee_id = new.assignee_id, team_id = new.team_id, mailbox_id = new.mailbox_id, company_id = new.company_id,
		priority = new.priority, hidden = new.deleted_at IS NOT NULL OR new.merged_first_into_id IS NOT NULL,
		sla_policy_id = new.sla_policy_id
	WHERE organization_id = new.organization_id AND ticket_id = new.id;
	RETURN NULL;
END $$;
