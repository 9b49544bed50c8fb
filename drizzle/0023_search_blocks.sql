-- Completed by hand: functions, triggers, the limit of the index and the mark of what is to be filled.
ALTER TABLE "fills" DROP CONSTRAINT "fills_kind";
--> statement-breakpoint
ALTER TABLE "fills" ADD CONSTRAINT "fills_kind" CHECK ("fills"."kind" in ('time_entries.company_id', 'ticket_search.document'));
--> statement-breakpoint
-- One lock after the other, in the order in which requests take them. They are held until the migration ends.
LOCK TABLE "tickets", "ticket_labels" IN SHARE ROW EXCLUSIVE MODE;
--> statement-breakpoint
CREATE FUNCTION search_prefix(organization_id uuid, number integer) RETURNS text LANGUAGE sql STABLE AS $$
	SELECT o.number || '.' || ($2 >> 14) || ':' FROM organizations o WHERE o.id = $1
$$;
--> statement-breakpoint
COMMENT ON FUNCTION search_prefix IS 'What the words of a ticket begin with in its search document: the number of the organization, and a block of tickets.';
--> statement-breakpoint
CREATE FUNCTION ticket_facets(organization_id uuid, ticket_id uuid) RETURNS tsvector LANGUAGE sql STABLE AS $$
	SELECT array_to_tsvector(array_agg(search_prefix(t.organization_id, t.number) || '@' || facet.value))
	FROM tickets t CROSS JOIN LATERAL (
		SELECT t.status UNION ALL SELECT t.priority UNION ALL SELECT t.assignee_id::text
		UNION ALL SELECT l.label_id::text FROM ticket_labels l WHERE l.organization_id = t.organization_id AND l.ticket_id = t.id
	) AS facet (value)
	WHERE t.organization_id = $1 AND t.id = $2 AND facet.value IS NOT NULL
$$;
--> statement-breakpoint
COMMENT ON FUNCTION ticket_facets IS 'The words for status, priority, assignee and labels of a ticket in its search document.';
--> statement-breakpoint
CREATE FUNCTION document_in_block(document tsvector, organization_id uuid, ticket_id uuid) RETURNS tsvector LANGUAGE sql STABLE AS $$
	SELECT replace($1::text, '''' || o.number || ':', '''' || search_prefix(t.organization_id, t.number))::tsvector
	FROM tickets t JOIN organizations o ON o.id = t.organization_id WHERE t.organization_id = $2 AND t.id = $3
$$;
--> statement-breakpoint
COMMENT ON FUNCTION document_in_block IS 'Gives the words of a document that has no blocks the block of its ticket; a document that has it stays as it is.';
--> statement-breakpoint
CREATE FUNCTION change_ticket_facets() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	prefix text := search_prefix(new.organization_id, new.number) || '@';
BEGIN
	UPDATE ticket_search
	SET document = ts_delete(document, ARRAY[prefix || old.status, prefix || old.priority, prefix || old.assignee_id])
		|| array_to_tsvector(array_remove(ARRAY[prefix || new.status, prefix || new.priority, prefix || new.assignee_id], NULL))
	WHERE organization_id = new.organization_id AND ticket_id = new.id;
	RETURN NULL;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION change_ticket_facets IS 'Lets a search with a filter find the ticket by what it has become.';
--> statement-breakpoint
CREATE TRIGGER tickets_facets AFTER UPDATE OF status, priority, assignee_id ON tickets FOR EACH ROW
	WHEN ((old.status, old.priority, old.assignee_id) IS DISTINCT FROM (new.status, new.priority, new.assignee_id))
	EXECUTE FUNCTION change_ticket_facets();
--> statement-breakpoint
CREATE FUNCTION change_label_facets() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP = 'INSERT' THEN
		UPDATE ticket_search s SET document = s.document || added.facets
		FROM (
			SELECT c.organization_id, c.ticket_id,
				array_to_tsvector(array_agg(search_prefix(t.organization_id, t.number) || '@' || c.label_id)) AS facets
			FROM changed c JOIN tickets t ON t.organization_id = c.organization_id AND t.id = c.ticket_id
			GROUP BY 1, 2
		) AS added
		WHERE s.organization_id = added.organization_id AND s.ticket_id = added.ticket_id
			AND s.document || added.facets <> s.document;
	ELSE
		-- The word of a label that is deleted may stay, because no search asks for it any more.
		UPDATE ticket_search s SET document = ts_delete(s.document, removed.words)
		FROM (
			SELECT c.organization_id, c.ticket_id, array_agg(search_prefix(t.organization_id, t.number) || '@' || c.label_id) AS words
			FROM changed c
			JOIN labels l ON l.organization_id = c.organization_id AND l.id = c.label_id
			JOIN tickets t ON t.organization_id = c.organization_id AND t.id = c.ticket_id
			GROUP BY 1, 2
		) AS removed
		WHERE s.organization_id = removed.organization_id AND s.ticket_id = removed.ticket_id;
	END IF;
	RETURN NULL;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION change_label_facets IS 'Lets a search with labels find the ticket by those that it has. A new ticket has their words already.';
--> statement-breakpoint
CREATE TRIGGER ticket_labels_facets_come AFTER INSERT ON ticket_labels REFERENCING NEW TABLE AS changed
	FOR EACH STATEMENT EXECUTE FUNCTION change_label_facets();
--> statement-breakpoint
CREATE TRIGGER ticket_labels_facets_go AFTER DELETE ON ticket_labels REFERENCING OLD TABLE AS changed
	FOR EACH STATEMENT EXECUTE FUNCTION change_label_facets();
--> statement-breakpoint
-- In kB. Each block that a search reads looks through the list of entries that are not yet merged: 4 MB would take 10 ms.
ALTER INDEX "ticket_search_document" SET (fastupdate = on, gin_pending_list_limit = 256);
--> statement-breakpoint
INSERT INTO fills (organization_id, kind)
SELECT id, 'ticket_search.document' FROM organizations o
WHERE EXISTS (SELECT FROM ticket_search s WHERE s.organization_id = o.id);
