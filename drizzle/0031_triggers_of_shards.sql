-- Completed by hand: functions of triggers, which the generator does not write. On a cluster of Citus a trigger runs on the
-- machine of its organization. There a statement that reads the changed rows can read no table, and one that names an
-- organization by a value is answered at once. So loops read the changed rows, and what is in a loop names tables.
CREATE OR REPLACE FUNCTION tally_tickets() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	step integer := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
	c record;
BEGIN
	FOR c IN
		SELECT organization_id, status, priority, assignee_id, step * count(*) AS n FROM changed
		WHERE deleted_at IS NULL GROUP BY 1, 2, 3, 4
	LOOP
		INSERT INTO ticket_count_changes (organization_id, status, priority, assignee_id, n)
		VALUES (c.organization_id, c.status, c.priority, c.assignee_id, c.n);
	END LOOP;
	FOR c IN
		SELECT organization_id, of.kind, of.key, status, step * count(*) AS n
		FROM changed CROSS JOIN LATERAL (VALUES
			('tickets', '00000000-0000-0000-0000-000000000000'),
			('tickets_of_contact', contact_id), ('tickets_of_company', company_id), ('tickets_of_day', first_id_of_day(id))
		) AS of (kind, key)
		WHERE deleted_at IS NULL AND of.key IS NOT NULL GROUP BY 1, 2, 3, 4
	LOOP
		INSERT INTO tally_changes (organization_id, kind, key, status, n)
		VALUES (c.organization_id, c.kind, c.key, c.status, c.n);
	END LOOP;
	RETURN NULL;
END $$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION tally_labels() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	step integer := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
	c record;
	ticket_status text;
	organizations uuid[];
	labels uuid[];
	statuses text[];
BEGIN
	FOR c IN SELECT organization_id, ticket_id, array_agg(label_id) AS labels FROM changed GROUP BY 1, 2 LOOP
		SELECT status INTO ticket_status FROM tickets
		WHERE organization_id = c.organization_id AND id = c.ticket_id AND deleted_at IS NULL;
		CONTINUE WHEN NOT FOUND;
		organizations := organizations || array_fill(c.organization_id, ARRAY[cardinality(c.labels)]);
		labels := labels || c.labels;
		statuses := statuses || array_fill(ticket_status, ARRAY[cardinality(c.labels)]);
	END LOOP;
	FOR c IN
		SELECT organization_id, label_id, status, step * count(*) AS n
		FROM unnest(organizations, labels, statuses) AS of (organization_id, label_id, status) GROUP BY 1, 2, 3
	LOOP
		INSERT INTO tally_changes (organization_id, kind, key, status, n)
		VALUES (c.organization_id, 'tickets_of_label', c.label_id, c.status, c.n);
	END LOOP;
	RETURN NULL;
END $$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION change_label_facets() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	c record;
	prefix text;
	ticket_number integer;
	words text[];
	deleted uuid[] := '{}';
BEGIN
	IF TG_OP = 'DELETE' THEN
		-- The word of a label that is deleted may stay, because no search asks for it any more.
		FOR c IN SELECT organization_id, label_id FROM changed GROUP BY 1, 2 LOOP
			PERFORM FROM labels WHERE organization_id = c.organization_id AND id = c.label_id;
			IF NOT FOUND THEN deleted := deleted || c.label_id; END IF;
		END LOOP;
	END IF;
	FOR c IN
		SELECT organization_id, ticket_id, array_agg('@' || label_id) AS words FROM changed
		WHERE label_id <> ALL (deleted) GROUP BY 1, 2
	LOOP
		SELECT number INTO ticket_number FROM tickets WHERE organization_id = c.organization_id AND id = c.ticket_id;
		CONTINUE WHEN NOT FOUND;
		prefix := search_prefix(c.organization_id, ticket_number);
		words := ARRAY(SELECT prefix || word FROM unnest(c.words) AS word);
		IF TG_OP = 'INSERT' THEN
			UPDATE ticket_search SET document = document || array_to_tsvector(words)
			WHERE organization_id = c.organization_id AND ticket_id = c.ticket_id
				AND document || array_to_tsvector(words) <> document;
		ELSE
			UPDATE ticket_search SET document = ts_delete(document, words)
			WHERE organization_id = c.organization_id AND ticket_id = c.ticket_id;
		END IF;
	END LOOP;
	RETURN NULL;
END $$;
--> statement-breakpoint
-- Citus puts no trigger on the machines that TRUNCATE fires, so that one is apart. Nothing can come between, for this locks
-- the table until the commit.
DROP TRIGGER audit_log_append_only ON audit_log;
--> statement-breakpoint
CREATE TRIGGER audit_log_append_only BEFORE UPDATE OR DELETE ON audit_log
	FOR EACH STATEMENT EXECUTE FUNCTION protect_audit_log();
--> statement-breakpoint
CREATE TRIGGER audit_log_no_truncate BEFORE TRUNCATE ON audit_log
	FOR EACH STATEMENT EXECUTE FUNCTION protect_audit_log();
