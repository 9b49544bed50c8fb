-- Written by hand: the functions of triggers, which now know the words of custom fields. A statement that reads
-- changed rows reads no table, as in 0031.
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
		FROM changed CROSS JOIN LATERAL (
			VALUES
				('tickets', '00000000-0000-0000-0000-000000000000'),
				('tickets_of_contact', contact_id), ('tickets_of_company', company_id), ('tickets_of_day', first_id_of_day(id))
			UNION ALL
			SELECT 'tickets_of_custom', word FROM unnest(custom_words) AS word
		) AS of (kind, key)
		WHERE deleted_at IS NULL AND of.key IS NOT NULL GROUP BY 1, 2, 3, 4
	LOOP
		INSERT INTO tally_changes (organization_id, kind, key, status, n)
		VALUES (c.organization_id, c.kind, c.key, c.status, c.n);
	END LOOP;
	RETURN NULL;
END $$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION tally_changed_ticket() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO tally_changes (organization_id, kind, key, status, n)
	SELECT new.organization_id, of.kind, of.key, t.status, sum(t.n)
	FROM (VALUES
		(old.id, old.contact_id, old.company_id, old.custom_words, old.status, old.deleted_at, -1),
		(new.id, new.contact_id, new.company_id, new.custom_words, new.status, new.deleted_at, 1)
	) AS t (id, contact_id, company_id, custom_words, status, deleted_at, n)
	CROSS JOIN LATERAL (
		VALUES
			('tickets', '00000000-0000-0000-0000-000000000000'), ('tickets_of_contact', t.contact_id),
			('tickets_of_company', t.company_id), ('tickets_of_day', first_id_of_day(t.id))
		UNION ALL
		SELECT 'tickets_of_custom', word FROM unnest(t.custom_words) AS word
		UNION ALL
		SELECT 'tickets_of_label', label_id FROM ticket_labels
		WHERE organization_id = old.organization_id AND ticket_id = old.id
	) AS of (kind, key)
	WHERE t.deleted_at IS NULL AND of.key IS NOT NULL GROUP BY 1, 2, 3, 4 HAVING sum(t.n) <> 0;
	RETURN new;
END $$;
--> statement-breakpoint
DROP TRIGGER tickets_change_tallies ON tickets;
--> statement-breakpoint
CREATE TRIGGER tickets_change_tallies BEFORE UPDATE OF id, status, contact_id, company_id, custom_words, deleted_at ON tickets
	FOR EACH ROW
	WHEN ((old.id, old.status, old.contact_id, old.company_id, old.custom_words, old.deleted_at IS NULL)
		IS DISTINCT FROM (new.id, new.status, new.contact_id, new.company_id, new.custom_words, new.deleted_at IS NULL))
	EXECUTE FUNCTION tally_changed_ticket();
--> statement-breakpoint
CREATE OR REPLACE FUNCTION ticket_facets(organization_id uuid, ticket_id uuid) RETURNS tsvector LANGUAGE sql STABLE AS $$
	SELECT array_to_tsvector(array_agg(search_prefix(t.organization_id, t.number) || '@' || facet.value))
	FROM tickets t CROSS JOIN LATERAL (
		SELECT t.status UNION ALL SELECT t.priority UNION ALL SELECT t.assignee_id::text
		UNION ALL SELECT word::text FROM unnest(t.custom_words) AS word
		UNION ALL SELECT l.label_id::text FROM ticket_labels l WHERE l.organization_id = t.organization_id AND l.ticket_id = t.id
	) AS facet (value)
	WHERE t.organization_id = $1 AND t.id = $2 AND facet.value IS NOT NULL
$$;
--> statement-breakpoint
COMMENT ON FUNCTION ticket_facets IS 'The words for status, priority, assignee, custom fields and labels of a ticket in its search document.';
--> statement-breakpoint
CREATE OR REPLACE FUNCTION change_ticket_facets() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	prefix text := search_prefix(new.organization_id, new.number) || '@';
	gone text[] := ARRAY[old.status, old.priority, old.assignee_id::text] || old.custom_words::text[];
	present text[] := ARRAY[new.status, new.priority, new.assignee_id::text] || new.custom_words::text[];
BEGIN
	UPDATE ticket_search
	SET document = ts_delete(document, ARRAY(SELECT prefix || value FROM unnest(gone) AS value WHERE value IS NOT NULL))
		|| array_to_tsvector(ARRAY(SELECT prefix || value FROM unnest(present) AS value WHERE value IS NOT NULL))
	WHERE organization_id = new.organization_id AND ticket_id = new.id;
	RETURN NULL;
END $$;
--> statement-breakpoint
DROP TRIGGER tickets_facets ON tickets;
--> statement-breakpoint
CREATE TRIGGER tickets_facets AFTER UPDATE OF status, priority, assignee_id, custom_words ON tickets FOR EACH ROW
	WHEN ((old.status, old.priority, old.assignee_id, old.custom_words)
		IS DISTINCT FROM (new.status, new.priority, new.assignee_id, new.custom_words))
	EXECUTE FUNCTION change_ticket_facets();
--> statement-breakpoint
CREATE OR REPLACE FUNCTION put_in_block() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	without_block tsquery := (SELECT quote_literal(number || ':') || ':*' FROM organizations WHERE id = new.organization_id)::tsquery;
	facets text[] := (
		SELECT ARRAY(SELECT search_prefix(t.organization_id, t.number) || '@' || word FROM unnest(t.custom_words) AS word)
		FROM tickets t WHERE t.organization_id = new.organization_id AND t.id = new.ticket_id AND t.custom_words IS NOT NULL
	);
BEGIN
	IF new.document @@ without_block THEN
		UPDATE ticket_search s SET size = s.size + length(s.document) * 5,
			document = document_in_block(s.document, s.organization_id, s.ticket_id) || ticket_facets(s.organization_id, s.ticket_id)
		WHERE s.organization_id = new.organization_id AND s.ticket_id = new.ticket_id;
	ELSIF NOT new.document @@ (SELECT string_agg(quote_literal(facet), ' & ') FROM unnest(facets) AS facet)::tsquery THEN
		UPDATE ticket_search s SET document = s.document || array_to_tsvector(facets)
		WHERE s.organization_id = new.organization_id AND s.ticket_id = new.ticket_id;
	END IF;
	RETURN NULL;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION put_in_block IS 'Gives a search document that an older process has written its block and facets, and the words of custom fields that it left out, in the same transaction.';
