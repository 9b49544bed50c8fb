/** Distributes a migrated, empty database over its cluster. */
import { distributeDatabase } from '../../src/db/cluster/distribute'
import { runOnDatabase } from './on-server'

export async function distributeTestDatabase(url: string): Promise<void> {
  await runOnDatabase(url, async (sql) => void (await sql.unsafe(TRIGGERS)))
  await distributeDatabase(url)
}

const TRIGGERS = `
CREATE OR REPLACE FUNCTION tally_tickets() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	step integer := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
	c record;
BEGIN
	FOR c IN SELECT organization_id, status, priority, assignee_id, count(*) AS n FROM changed
	WHERE deleted_at IS NULL GROUP BY 1, 2, 3, 4 LOOP
		INSERT INTO ticket_count_changes (organization_id, status, priority, assignee_id, n)
		VALUES (c.organization_id, c.status, c.priority, c.assignee_id, step * c.n);
	END LOOP;
	FOR c IN SELECT organization_id, of.kind, of.key, status, count(*) AS n
	FROM changed CROSS JOIN LATERAL (VALUES
		('tickets', '00000000-0000-0000-0000-000000000000'),
		('tickets_of_contact', contact_id), ('tickets_of_company', company_id), ('tickets_of_day', first_id_of_day(id))
	) AS of (kind, key)
	WHERE deleted_at IS NULL AND of.key IS NOT NULL GROUP BY 1, 2, 3, 4 LOOP
		INSERT INTO tally_changes (organization_id, kind, key, status, n)
		VALUES (c.organization_id, c.kind, c.key, c.status, step * c.n);
	END LOOP;
	RETURN NULL;
END $$;
CREATE OR REPLACE FUNCTION tally_labels() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	step integer := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
	c record;
BEGIN
	FOR c IN SELECT organization_id, ticket_id, label_id FROM changed LOOP
	INSERT INTO tally_changes (organization_id, kind, key, status, n)
	SELECT t.organization_id, 'tickets_of_label', c.label_id, t.status, step 
	FROM tickets t where t.organization_id = c.organization_id AND t.id = c.ticket_id
	AND t.deleted_at IS NULL;
	END LOOP;
	RETURN NULL;
END $$;
CREATE OR REPLACE FUNCTION change_label_facets() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
 c record;
BEGIN
	FOR c IN SELECT organization_id, ticket_id, label_id FROM changed LOOP
	IF TG_OP = 'INSERT' THEN
		UPDATE ticket_search s SET document = s.document || added.facets
		FROM (
			SELECT array_to_tsvector(ARRAY[search_prefix(t.organization_id, t.number) || '@' || c.label_id]) AS facets
			FROM tickets t where t.organization_id = c.organization_id AND t.id = c.ticket_id
		) AS added
		WHERE s.organization_id = c.organization_id AND s.ticket_id = c.ticket_id
			AND s.document || added.facets <> s.document;
	END IF;
	END LOOP;
	RETURN NULL;
END $$;
`
