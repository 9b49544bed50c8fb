-- Reviewed by hand: functions, triggers, the mark and the storage settings cannot be expressed in schema.ts.
CREATE TABLE "tallies" (
	"organization_id" uuid NOT NULL,
	"kind" text NOT NULL,
	"key" uuid NOT NULL,
	"status" text,
	"n" integer NOT NULL,
	CONSTRAINT "tallies_key" UNIQUE NULLS NOT DISTINCT("organization_id","kind","key","status"),
	CONSTRAINT "tallies_kind" CHECK ("tallies"."kind" in ('tickets_of_contact', 'tickets_of_company', 'tickets_of_label', 'tickets_of_day', 'contacts_of_company'))
);
--> statement-breakpoint
CREATE TABLE "tally_changes" (
	"organization_id" uuid NOT NULL,
	"id" bigint GENERATED ALWAYS AS IDENTITY (sequence name "tally_changes_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"kind" text NOT NULL,
	"key" uuid NOT NULL,
	"status" text,
	"n" integer NOT NULL,
	CONSTRAINT "tally_changes_organization_id_kind_key_id_pk" PRIMARY KEY("organization_id","kind","key","id")
);
--> statement-breakpoint
ALTER TABLE "tallies" SET (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);
--> statement-breakpoint
ALTER TABLE "tally_changes" SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off);
--> statement-breakpoint
-- One lock after the other, in the order in which requests take them. They are held until the migration ends.
LOCK TABLE tickets, ticket_labels, contacts IN SHARE ROW EXCLUSIVE MODE;
--> statement-breakpoint
CREATE FUNCTION first_id_of_day(id uuid) RETURNS uuid LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
	RETURN (lpad(to_hex(
		('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint / 86400000 * 86400000
	), 12, '0') || repeat('0', 20))::uuid;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION first_id_of_day IS 'The lowest UUIDv7 that can be made on the day (UTC) of the given one.';
--> statement-breakpoint
CREATE FUNCTION tally_tickets() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	step integer := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
BEGIN
	INSERT INTO ticket_count_changes (organization_id, status, priority, assignee_id, n)
	SELECT organization_id, status, priority, assignee_id, step * count(*) FROM changed
	WHERE deleted_at IS NULL GROUP BY 1, 2, 3, 4;
	INSERT INTO tally_changes (organization_id, kind, key, status, n)
	SELECT organization_id, of.kind, of.key, status, step * count(*)
	FROM changed CROSS JOIN LATERAL (VALUES
		('tickets_of_contact', contact_id), ('tickets_of_company', company_id), ('tickets_of_day', first_id_of_day(id))
	) AS of (kind, key)
	WHERE deleted_at IS NULL AND of.key IS NOT NULL GROUP BY 1, 2, 3, 4;
	RETURN NULL;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION tally_tickets IS 'Counts tickets that come and go, whoever writes them. Labels are counted by their own rows.';
--> statement-breakpoint
DROP TRIGGER tickets_come_and_go ON tickets;
--> statement-breakpoint
CREATE TRIGGER tickets_come AFTER INSERT ON tickets REFERENCING NEW TABLE AS changed
	FOR EACH STATEMENT EXECUTE FUNCTION tally_tickets();
--> statement-breakpoint
CREATE TRIGGER tickets_go AFTER DELETE ON tickets REFERENCING OLD TABLE AS changed
	FOR EACH STATEMENT EXECUTE FUNCTION tally_tickets();
--> statement-breakpoint
CREATE FUNCTION tally_changed_ticket() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO tally_changes (organization_id, kind, key, status, n)
	SELECT new.organization_id, of.kind, of.key, t.status, sum(t.n)
	FROM (VALUES
		(old.contact_id, old.company_id, old.status, old.deleted_at, -1),
		(new.contact_id, new.company_id, new.status, new.deleted_at, 1)
	) AS t (contact_id, company_id, status, deleted_at, n)
	CROSS JOIN LATERAL (
		VALUES
			('tickets_of_contact', t.contact_id), ('tickets_of_company', t.company_id), ('tickets_of_day', first_id_of_day(new.id))
		UNION ALL
		SELECT 'tickets_of_label', label_id FROM ticket_labels
		WHERE organization_id = new.organization_id AND ticket_id = new.id
	) AS of (kind, key)
	WHERE t.deleted_at IS NULL AND of.key IS NOT NULL GROUP BY 1, 2, 3, 4 HAVING sum(t.n) <> 0;
	RETURN NULL;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION tally_changed_ticket IS
	'Counts a ticket that changes, with the labels that it has then: no statement may change its labels and its status both.';
--> statement-breakpoint
-- For each row: most updates change nothing that is counted, and the condition finds that at no cost.
CREATE TRIGGER tickets_change_tallies AFTER UPDATE OF status, contact_id, company_id, deleted_at ON tickets FOR EACH ROW
	WHEN ((old.status, old.contact_id, old.company_id, old.deleted_at IS NULL)
		IS DISTINCT FROM (new.status, new.contact_id, new.company_id, new.deleted_at IS NULL))
	EXECUTE FUNCTION tally_changed_ticket();
--> statement-breakpoint
CREATE FUNCTION unlabel_ticket() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	DELETE FROM ticket_labels WHERE organization_id = old.organization_id AND ticket_id = old.id;
	RETURN old;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION unlabel_ticket IS 'Takes the labels off a ticket while its status can still be read.';
--> statement-breakpoint
CREATE TRIGGER tickets_go_unlabelled BEFORE DELETE ON tickets FOR EACH ROW
	WHEN (old.deleted_at IS NULL) EXECUTE FUNCTION unlabel_ticket();
--> statement-breakpoint
CREATE FUNCTION tally_labels() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	step integer := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
BEGIN
	INSERT INTO tally_changes (organization_id, kind, key, status, n)
	SELECT t.organization_id, 'tickets_of_label', changed.label_id, t.status, step * count(*)
	FROM changed JOIN tickets t ON t.organization_id = changed.organization_id AND t.id = changed.ticket_id
	WHERE t.deleted_at IS NULL GROUP BY 1, 2, 3, 4;
	RETURN NULL;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION tally_labels IS 'Counts labels that are put on tickets and taken off.';
--> statement-breakpoint
CREATE TRIGGER ticket_labels_come AFTER INSERT ON ticket_labels REFERENCING NEW TABLE AS changed
	FOR EACH STATEMENT EXECUTE FUNCTION tally_labels();
--> statement-breakpoint
CREATE TRIGGER ticket_labels_go AFTER DELETE ON ticket_labels REFERENCING OLD TABLE AS changed
	FOR EACH STATEMENT EXECUTE FUNCTION tally_labels();
--> statement-breakpoint
CREATE FUNCTION tally_contacts() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	none CONSTANT uuid := '00000000-0000-0000-0000-000000000000';
BEGIN
	IF TG_OP <> 'INSERT' THEN
		INSERT INTO tally_changes (organization_id, kind, key, n)
		VALUES (old.organization_id, 'contacts_of_company', coalesce(old.company_id, none), -1);
	END IF;
	IF TG_OP <> 'DELETE' THEN
		INSERT INTO tally_changes (organization_id, kind, key, n)
		VALUES (new.organization_id, 'contacts_of_company', coalesce(new.company_id, none), 1);
	END IF;
	RETURN NULL;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION tally_contacts IS 'Counts the contacts of each company.';
--> statement-breakpoint
CREATE TRIGGER contacts_come_and_go AFTER INSERT OR DELETE ON contacts FOR EACH ROW EXECUTE FUNCTION tally_contacts();
--> statement-breakpoint
CREATE TRIGGER contacts_change AFTER UPDATE OF company_id ON contacts FOR EACH ROW
	WHEN (old.company_id IS DISTINCT FROM new.company_id) EXECUTE FUNCTION tally_contacts();
--> statement-breakpoint
-- Organizations whose tickets of before are not counted yet: `finishTallies` counts them after the migration, without locks.
CREATE TABLE tallies_unfinished AS SELECT id AS organization_id FROM organizations;
