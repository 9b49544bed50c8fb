-- The schema of release 0.2.0, as pg_dump writes it. A database of that release has it already.
CREATE EXTENSION IF NOT EXISTS pg_trgm;
--> statement-breakpoint
CREATE EXTENSION IF NOT EXISTS btree_gin;
--> statement-breakpoint
SET LOCAL check_function_bodies = off;
--> statement-breakpoint
CREATE FUNCTION change_label_facets() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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
COMMENT ON FUNCTION change_label_facets() IS 'Lets a search with labels find the ticket by those that it has. A new ticket has their words already.';
--> statement-breakpoint
CREATE FUNCTION change_ticket_facets() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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
COMMENT ON FUNCTION change_ticket_facets() IS 'Lets a search with a filter find the ticket by what it has become.';
--> statement-breakpoint
CREATE FUNCTION count_ticket() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
	IF TG_OP <> 'INSERT' AND old.deleted_at IS NULL THEN
		INSERT INTO ticket_count_changes (organization_id, status, priority, assignee_id, n)
		VALUES (old.organization_id, old.status, old.priority, old.assignee_id, -1);
	END IF;
	IF TG_OP <> 'DELETE' AND new.deleted_at IS NULL THEN
		INSERT INTO ticket_count_changes (organization_id, status, priority, assignee_id, n)
		VALUES (new.organization_id, new.status, new.priority, new.assignee_id, 1);
	END IF;
	RETURN NULL;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION count_ticket() IS 'Keeps the counts of tickets exact, whoever writes tickets.';
--> statement-breakpoint
CREATE FUNCTION cut_search() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
	new.search := left(new.search, 600);
	RETURN new;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION cut_search() IS 'Cuts what an entry of the index contacts_list cannot hold.';
--> statement-breakpoint
CREATE FUNCTION document_in_block(document tsvector, organization_id uuid, ticket_id uuid) RETURNS tsvector
    LANGUAGE sql STABLE
    AS $_$
	SELECT replace($1::text, '''' || o.number || ':', '''' || search_prefix(t.organization_id, t.number))::tsvector
	FROM tickets t JOIN organizations o ON o.id = t.organization_id WHERE t.organization_id = $2 AND t.id = $3
$_$;
--> statement-breakpoint
COMMENT ON FUNCTION document_in_block(document tsvector, organization_id uuid, ticket_id uuid) IS 'Gives the words of a document that has no blocks the block of its ticket; a document that has it stays as it is.';
--> statement-breakpoint
CREATE FUNCTION file_in_turn() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
	PERFORM pg_advisory_xact_lock(hashtextextended('file mail ' || old.organization_id, 0));
	RETURN old;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION file_in_turn() IS 'Lets one process at a time file mail of an organization: an older one would lock only the conversation.';
--> statement-breakpoint
CREATE FUNCTION first_id_of_day(id uuid) RETURNS uuid
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    AS $$
BEGIN
	RETURN (lpad(to_hex(
		('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint / 86400000 * 86400000
	), 12, '0') || repeat('0', 20))::uuid;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION first_id_of_day(id uuid) IS 'The lowest UUIDv7 that can be made on the day (UTC) of the given one.';
--> statement-breakpoint
CREATE FUNCTION keep_primary_address() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
	IF TG_OP = 'UPDATE' THEN
		-- Another address of the contact may become the primary one: then both stay.
		UPDATE contact_addresses SET email = new.email
		WHERE organization_id = new.organization_id AND email_key = new.email_key AND contact_id = new.id;
		IF FOUND THEN RETURN NULL; END IF;
		DELETE FROM contact_addresses
		WHERE organization_id = new.organization_id AND email_key = old.email_key AND contact_id = new.id;
	END IF;
	INSERT INTO contact_addresses (organization_id, email_key, contact_id, email)
	VALUES (new.organization_id, new.email_key, new.id, new.email) ON CONFLICT DO NOTHING;
	IF NOT FOUND THEN
		RAISE unique_violation USING CONSTRAINT = 'contacts_email',
			MESSAGE = 'duplicate key value violates unique constraint "contacts_email"';
	END IF;
	RETURN NULL;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION keep_primary_address() IS 'Keeps the primary addresses in contact_addresses as contacts has them, whichever release writes.';
--> statement-breakpoint
CREATE FUNCTION never() RETURNS boolean
    LANGUAGE plpgsql STABLE COST 1 PARALLEL SAFE
    AS $$ BEGIN RETURN false; END $$;
--> statement-breakpoint
COMMENT ON FUNCTION never() IS 'False. The planner knows it on a cluster alone (src/db/cluster/route-searches.ts): a search is sent to one node then, and read by the index of words elsewhere.';
--> statement-breakpoint
CREATE FUNCTION pass_company_to_time() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
	UPDATE time_entries SET company_id = new.company_id
	WHERE organization_id = new.organization_id AND ticket_id = coalesce(new.merged_into_id, new.id)
		AND coalesce(original_ticket_id, ticket_id) = new.id AND company_id IS DISTINCT FROM new.company_id;
	RETURN NULL;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION pass_company_to_time() IS 'Gives the time entries of a ticket its new company.';
--> statement-breakpoint
CREATE FUNCTION place_event() RETURNS trigger
    LANGUAGE plpgsql
    AS $_$
DECLARE
	-- Is empty again when the transaction ends: organization, place and number of the event before this one.
	former text[] := string_to_array(current_setting('deskwire.event_place', true), ' ');
	at_place bigint;
	at_nth integer := 0;
	resource uuid := NEW.resource_id;
	ticket uuid := NEW.ticket_id;
	-- What an assignment calls costs a tenth of what PERFORM takes.
	done text;
BEGIN
	IF former[1] = NEW.organization_id::text THEN
		at_place := former[2]::bigint;
		at_nth := former[3]::integer + 1;
	ELSE
		done := pg_advisory_xact_lock_shared(hashtextextended('events of ' || NEW.organization_id, 0));
		SELECT ((greatest(
			(SELECT place FROM event_places WHERE organization_id = NEW.organization_id ORDER BY place DESC LIMIT 1),
			(SELECT removed_place FROM event_feeds WHERE organization_id = NEW.organization_id),
			0
		) >> 20) + 1 << 20) | (pg_current_xact_id()::text::bigint & 1048575) INTO at_place;
	END IF;
	done := set_config('deskwire.event_place', NEW.organization_id || ' ' || at_place || ' ' || at_nth, true);
	IF resource IS NULL THEN
		resource := substring(NEW.body::json #>> '{data,id}' from '^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$')::uuid;
		ticket := substring(NEW.body::json #>> '{data,ticket,id}' from '^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$')::uuid;
	END IF;
	-- The time is at the beginning of the body, and a search in all of it would read it whole.
	INSERT INTO event_places (organization_id, place, nth, event_id, type, resource_id, ticket_id, happened_at, began_at)
	VALUES (NEW.organization_id, at_place, at_nth, NEW.id, NEW.type, resource, ticket,
		coalesce(substring(left(NEW.body, 120) from '"timestamp":"([^"]+)"')::timestamptz, NEW.created_at),
		CASE WHEN clock_timestamp() - transaction_timestamp() > interval '1 minute' THEN transaction_timestamp() END);
	RETURN NULL;
END $_$;
--> statement-breakpoint
CREATE FUNCTION protect_audit_log() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
	reason text := coalesce(current_setting('deskwire.audit_log', true), '');
BEGIN
	IF TG_OP = 'DELETE' AND reason = 'retention' OR TG_OP IN ('UPDATE', 'DELETE') AND reason = 'erasure' THEN
		RETURN NULL;
	END IF;
	RAISE EXCEPTION 'audit_log is append-only' USING ERRCODE = 'insufficient_privilege';
END $$;
--> statement-breakpoint
CREATE FUNCTION put_in_block() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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
COMMENT ON FUNCTION put_in_block() IS 'Gives a search document that an older process has written its block and facets, and the words of custom fields that it left out, in the same transaction.';
--> statement-breakpoint
CREATE FUNCTION refuse_taken_address() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
	PERFORM FROM contact_addresses WHERE organization_id = new.organization_id AND email_key = new.email_key;
	IF FOUND THEN RETURN NULL; END IF;
	RETURN new;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION refuse_taken_address() IS 'Leaves out a new contact whose address another one has, as "on conflict do nothing" does for a primary address.';
--> statement-breakpoint
CREATE FUNCTION search_prefix(organization_id uuid, number integer) RETURNS text
    LANGUAGE sql STABLE
    AS $_$
	SELECT o.number || '.' || ($2 >> 14) || ':' FROM organizations o WHERE o.id = $1
$_$;
--> statement-breakpoint
COMMENT ON FUNCTION search_prefix(organization_id uuid, number integer) IS 'What the words of a ticket begin with in its search document: the number of the organization, and a block of tickets.';
--> statement-breakpoint
CREATE FUNCTION set_time_entry_company() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
	new.company_id := (
		SELECT company_id FROM tickets WHERE organization_id = new.organization_id AND id = new.ticket_id FOR SHARE
	);
	RETURN new;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION set_time_entry_company() IS 'Gives a new time entry the company of its ticket, which cannot change until the transaction ends.';
--> statement-breakpoint
CREATE FUNCTION sum_up_time() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
	IF TG_OP <> 'INSERT' THEN
		INSERT INTO time_total_changes (organization_id, date, currency, billable, entries, minutes, priced, amount)
		VALUES (old.organization_id, old.date, old.currency, old.billable,
			-1, -old.duration_minutes, -num_nonnulls(old.amount), -coalesce(old.amount, 0));
	END IF;
	IF TG_OP <> 'DELETE' THEN
		INSERT INTO time_total_changes (organization_id, date, currency, billable, entries, minutes, priced, amount)
		VALUES (new.organization_id, new.date, new.currency, new.billable,
			1, new.duration_minutes, num_nonnulls(new.amount), coalesce(new.amount, 0));
	END IF;
	RETURN NULL;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION sum_up_time() IS 'Keeps the sums of time entries exact, whoever writes entries.';
--> statement-breakpoint
CREATE FUNCTION tally_changed_ticket() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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
COMMENT ON FUNCTION tally_changed_ticket() IS 'Counts a ticket that changes, with the labels that it has before. Labels that come and go are counted by their own rows.';
--> statement-breakpoint
CREATE FUNCTION tally_contacts() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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
COMMENT ON FUNCTION tally_contacts() IS 'Counts the contacts of each company.';
--> statement-breakpoint
CREATE FUNCTION tally_labels() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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
COMMENT ON FUNCTION tally_labels() IS 'Counts labels that are put on tickets and taken off.';
--> statement-breakpoint
CREATE FUNCTION tally_tickets() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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
COMMENT ON FUNCTION tally_tickets() IS 'Counts tickets that come and go, whoever writes them. Labels are counted by their own rows.';
--> statement-breakpoint
CREATE FUNCTION ticket_facets(organization_id uuid, ticket_id uuid) RETURNS tsvector
    LANGUAGE sql STABLE
    AS $_$
	SELECT array_to_tsvector(array_agg(search_prefix(t.organization_id, t.number) || '@' || facet.value))
	FROM tickets t CROSS JOIN LATERAL (
		SELECT t.status UNION ALL SELECT t.priority UNION ALL SELECT t.assignee_id::text
		UNION ALL SELECT word::text FROM unnest(t.custom_words) AS word
		UNION ALL SELECT l.label_id::text FROM ticket_labels l WHERE l.organization_id = t.organization_id AND l.ticket_id = t.id
	) AS facet (value)
	WHERE t.organization_id = $1 AND t.id = $2 AND facet.value IS NOT NULL
$_$;
--> statement-breakpoint
COMMENT ON FUNCTION ticket_facets(organization_id uuid, ticket_id uuid) IS 'The words for status, priority, assignee, custom fields and labels of a ticket in its search document.';
--> statement-breakpoint
CREATE FUNCTION ticket_rank(priority text) RETURNS integer
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS $$ SELECT array_position(ARRAY['low', 'normal', 'high', 'urgent'], priority) $$;
--> statement-breakpoint
CREATE FUNCTION unlabel_ticket() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
	DELETE FROM ticket_labels WHERE organization_id = old.organization_id AND ticket_id = old.id;
	RETURN old;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION unlabel_ticket() IS 'Takes the labels off a ticket while its status can still be read.';
--> statement-breakpoint
CREATE FUNCTION uuid_time(id uuid) RETURNS timestamp with time zone
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    AS $$ BEGIN RETURN to_timestamp(('x' || translate(left(id::text, 13), '-', ''))::bit(48)::bigint / 1000.0); END $$;
--> statement-breakpoint
COMMENT ON FUNCTION uuid_time(id uuid) IS 'The time in a UUIDv7 (RFC 9562), in milliseconds.';
--> statement-breakpoint
CREATE TABLE account_entries (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    entry jsonb NOT NULL
);
--> statement-breakpoint
CREATE TABLE activities (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    ticket_id uuid NOT NULL,
    type text NOT NULL,
    actor_type text NOT NULL,
    actor_id uuid,
    actor_name text,
    data jsonb DEFAULT '{}'::jsonb NOT NULL,
    created_at timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL
);
--> statement-breakpoint
CREATE TABLE api_keys (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    name text NOT NULL,
    prefix text NOT NULL,
    key_hash bytea NOT NULL,
    permissions text[] NOT NULL,
    allowed_networks text[] NOT NULL,
    created_by_id uuid,
    created_at timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
    last_used_at timestamp with time zone,
    revoked_at timestamp with time zone,
    CONSTRAINT api_keys_permissions CHECK ((cardinality(permissions) > 0))
);
--> statement-breakpoint
CREATE TABLE attachments (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    message_id uuid,
    filename text NOT NULL,
    content_type text NOT NULL,
    size bigint NOT NULL,
    digest text NOT NULL,
    storage_key text NOT NULL,
    content_id text,
    created_at timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
    uploader_id uuid,
    draft_id uuid,
    is_by_contact boolean DEFAULT false NOT NULL,
    scan text,
    CONSTRAINT attachments_size CHECK ((size >= 0)),
    CONSTRAINT attachments_storage_key CHECK ((storage_key ~ '^attachments/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'::text))
);
--> statement-breakpoint
CREATE TABLE audit_log (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    actor_type text NOT NULL,
    actor_id uuid,
    actor_name text,
    action text NOT NULL,
    resource_type text,
    resource_id uuid,
    changes jsonb,
    ip text,
    user_agent text,
    request_id text,
    created_at timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
    CONSTRAINT audit_log_actor_type CHECK ((actor_type = ANY (ARRAY['user'::text, 'api_key'::text, 'operator'::text, 'system'::text]))),
    CONSTRAINT audit_log_resource CHECK ((num_nulls(resource_type, resource_id) = ANY (ARRAY[0, 2])))
);
--> statement-breakpoint
CREATE TABLE companies (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    name text NOT NULL,
    domains text[] DEFAULT '{}'::text[] NOT NULL,
    hourly_rate numeric(9,2),
    currency text,
    ticket_prefix text,
    notes text,
    created_at timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    external_id text,
    custom jsonb DEFAULT '{}'::jsonb NOT NULL,
    custom_words uuid[],
    CONSTRAINT companies_currency CHECK ((currency ~ '^[A-Z]{3}$'::text)),
    CONSTRAINT companies_domains_count CHECK ((cardinality(domains) <= 20)),
    CONSTRAINT companies_hourly_rate CHECK (((hourly_rate >= (0)::numeric) AND (hourly_rate <= (1000000)::numeric))),
    CONSTRAINT companies_ticket_prefix CHECK ((ticket_prefix ~ '^[A-Z][A-Z0-9]{0,9}$'::text))
);
--> statement-breakpoint
CREATE TABLE contact_addresses (
    organization_id uuid NOT NULL,
    email_key text NOT NULL,
    contact_id uuid NOT NULL,
    email text NOT NULL,
    "position" integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE contact_tokens (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    contact_id uuid NOT NULL,
    token_hash bytea NOT NULL,
    scope text NOT NULL,
    api_key_id uuid,
    user_id uuid,
    expires_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
    CONSTRAINT contact_tokens_maker CHECK ((num_nulls(api_key_id, user_id) = 1)),
    CONSTRAINT contact_tokens_scope CHECK ((scope = ANY (ARRAY['own'::text, 'company'::text])))
);
--> statement-breakpoint
CREATE TABLE contacts (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    name text NOT NULL,
    email text NOT NULL,
    phone text,
    company_id uuid,
    notes text,
    search text NOT NULL,
    created_at timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    email_key text NOT NULL,
    external_id text,
    custom jsonb DEFAULT '{}'::jsonb NOT NULL,
    custom_words uuid[]
);
--> statement-breakpoint
CREATE TABLE deliveries (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    webhook_id uuid NOT NULL,
    event_id uuid NOT NULL,
    event text NOT NULL,
    status text DEFAULT 'pending'::text NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    response_code integer,
    response_time_ms integer,
    error text,
    next_attempt_at timestamp with time zone,
    created_at timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
    CONSTRAINT deliveries_attempts CHECK ((attempts >= 0)),
    CONSTRAINT deliveries_status CHECK ((status = ANY (ARRAY['pending'::text, 'retrying'::text, 'success'::text, 'failed'::text, 'cancelled'::text])))
)
WITH (fillfactor='80');
--> statement-breakpoint
CREATE TABLE delivery_attempts (
    organization_id uuid NOT NULL,
    delivery_id uuid NOT NULL,
    attempt integer NOT NULL,
    started_at timestamp with time zone NOT NULL,
    response_code integer,
    response_time_ms integer NOT NULL,
    error text,
    response_head text,
    CONSTRAINT delivery_attempts_attempt CHECK ((attempt > 0))
);
--> statement-breakpoint
CREATE TABLE domains (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    domain text NOT NULL,
    challenge text NOT NULL,
    verified_at timestamp with time zone,
    verified_by text,
    created_at timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
    CONSTRAINT domains_verified_by CHECK ((verified_by = ANY (ARRAY['dns'::text, 'operator'::text]))),
    CONSTRAINT domains_verified_complete CHECK ((num_nulls(verified_at, verified_by) = ANY (ARRAY[0, 2])))
);
--> statement-breakpoint
CREATE TABLE drafts (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    ticket_id uuid NOT NULL,
    author_type text NOT NULL,
    author_id uuid NOT NULL,
    body text NOT NULL,
    body_html text NOT NULL,
    text text NOT NULL,
    is_internal boolean NOT NULL,
    cc text[],
    based_on uuid,
    created_at timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    original_ticket_id uuid,
    CONSTRAINT drafts_author_type CHECK ((author_type = ANY (ARRAY['user'::text, 'api_key'::text])))
);
--> statement-breakpoint
CREATE TABLE email_anchors (
    organization_id uuid NOT NULL,
    email_message_id text NOT NULL,
    ticket_id uuid NOT NULL,
    message_id uuid
);
--> statement-breakpoint
CREATE TABLE event_feeds (
    organization_id uuid NOT NULL,
    epoch uuid,
    removed_place bigint DEFAULT 0 NOT NULL,
    removed_until timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE event_places (
    organization_id uuid NOT NULL,
    place bigint NOT NULL,
    nth integer NOT NULL,
    event_id uuid NOT NULL,
    type text NOT NULL,
    resource_id uuid,
    ticket_id uuid,
    happened_at timestamp with time zone NOT NULL,
    began_at timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE events (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    type text NOT NULL,
    body text NOT NULL,
    created_at timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
    resource_id uuid,
    ticket_id uuid,
    CONSTRAINT events_type CHECK ((type = ANY (ARRAY['ticket.created'::text, 'ticket.updated'::text, 'ticket.deleted'::text, 'ticket.assigned'::text, 'ticket.status_changed'::text, 'ticket.erased'::text, 'ticket.merged'::text, 'ticket.unmerged'::text, 'ticket.split'::text, 'message.created'::text, 'message.deleted'::text, 'message.email_sent'::text, 'message.email_failed'::text, 'message.email_bounced'::text, 'message.erased'::text, 'contact.created'::text, 'contact.updated'::text, 'contact.deleted'::text, 'company.created'::text, 'company.updated'::text, 'company.deleted'::text, 'label.created'::text, 'label.updated'::text, 'label.deleted'::text, 'time_entry.created'::text, 'time_entry.updated'::text, 'time_entry.deleted'::text, 'inbound_message.filed'::text, 'organization.imported'::text, 'test.ping'::text])))
);
--> statement-breakpoint
CREATE TABLE fills (
    organization_id uuid NOT NULL,
    kind text NOT NULL,
    after_id uuid,
    begun_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT fills_kind CHECK ((kind = ANY (ARRAY['time_entries.company_id'::text, 'ticket_search.document'::text])))
);
--> statement-breakpoint
CREATE TABLE idempotency_keys (
    organization_id uuid NOT NULL,
    user_id uuid NOT NULL,
    key_digest bytea NOT NULL,
    request_digest bytea,
    token uuid NOT NULL,
    lease_until timestamp with time zone,
    status integer,
    answer text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT idempotency_keys_answer CHECK ((num_nulls(status, answer) = ANY (ARRAY[0, 2]))),
    CONSTRAINT idempotency_keys_end CHECK (((lease_until IS NOT NULL) OR (answer IS NOT NULL)))
);
--> statement-breakpoint
CREATE TABLE identities (
    organization_id uuid NOT NULL,
    user_id uuid NOT NULL,
    issuer text NOT NULL,
    subject text NOT NULL,
    linked_at timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE identity_providers (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    issuer text NOT NULL,
    client_id text NOT NULL,
    client_secret text,
    redirect_uris text[] DEFAULT '{}'::text[] NOT NULL,
    trust_email boolean DEFAULT false NOT NULL,
    provision text DEFAULT 'none'::text NOT NULL,
    domains text[] DEFAULT '{}'::text[] NOT NULL,
    role_claim text,
    role_values jsonb NOT NULL,
    session_seconds integer NOT NULL,
    required boolean DEFAULT false NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT identity_providers_provision CHECK ((provision = ANY (ARRAY['none'::text, 'domain'::text, 'claim'::text])))
);
--> statement-breakpoint
CREATE TABLE imported_rows (
    organization_id uuid NOT NULL,
    key uuid NOT NULL,
    row_id uuid NOT NULL,
    digest uuid,
    state text
);
--> statement-breakpoint
CREATE TABLE inbound_fingerprints (
    organization_id uuid NOT NULL,
    fingerprint text NOT NULL,
    inbound_message_id uuid NOT NULL,
    words text[],
    from_list boolean DEFAULT false NOT NULL
);
--> statement-breakpoint
CREATE TABLE inbound_messages (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    mailbox_id uuid,
    mailbox_address text NOT NULL,
    recipient text NOT NULL,
    envelope_sender text,
    email_message_id text,
    from_name text,
    from_email text,
    subject text,
    size bigint NOT NULL,
    outcome text DEFAULT 'pending'::text NOT NULL,
    rule text,
    ticket_id uuid,
    message_id uuid,
    storage_key text,
    received_at timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
    remote_address text,
    helo text,
    tls boolean,
    relay_address text,
    sender_verified boolean,
    authentication jsonb,
    recipients text[] DEFAULT '{}'::text[] NOT NULL,
    from_keys text[] DEFAULT '{}'::text[] NOT NULL,
    to_keys text[] DEFAULT '{}'::text[] NOT NULL,
    spam_score real,
    spam_by text,
    CONSTRAINT inbound_messages_outcome CHECK ((outcome = ANY (ARRAY['pending'::text, 'ticket'::text, 'message'::text, 'bounce'::text, 'duplicate'::text, 'own'::text, 'unmatched_bounce'::text, 'unparsed'::text, 'spam'::text]))),
    CONSTRAINT inbound_messages_rule CHECK ((rule = ANY (ARRAY['in_reply_to'::text, 'references'::text, 'message_id'::text, 'reply_tag'::text, 'subject_code'::text, 'new'::text]))),
    CONSTRAINT inbound_messages_spam_by CHECK ((spam_by = ANY (ARRAY['relay'::text, 'rspamd'::text, 'sender_rule'::text]))),
    CONSTRAINT inbound_messages_storage_key CHECK ((storage_key ~ '^inbound/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'::text))
);
--> statement-breakpoint
CREATE TABLE inlets (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    mailbox_id uuid NOT NULL,
    provider text NOT NULL,
    token_hash bytea NOT NULL,
    signing_key text,
    ends_at timestamp with time zone,
    created_at timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
    CONSTRAINT inlets_provider CHECK ((provider = ANY (ARRAY['raw'::text, 'postmark'::text, 'cloudmailin'::text, 'mailgun'::text, 'sendgrid'::text])))
);
--> statement-breakpoint
CREATE TABLE invitation_letters (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    email_key text NOT NULL,
    sent_at timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE invitations (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    email text NOT NULL,
    email_key text NOT NULL,
    name text NOT NULL,
    role text NOT NULL,
    hourly_rate numeric(9,2),
    currency text,
    token_hash bytea NOT NULL,
    is_proof boolean NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
    CONSTRAINT invitations_currency CHECK ((currency ~ '^[A-Z]{3}$'::text)),
    CONSTRAINT invitations_hourly_rate CHECK (((hourly_rate >= (0)::numeric) AND (hourly_rate <= (1000000)::numeric))),
    CONSTRAINT invitations_role CHECK ((role = ANY (ARRAY['admin'::text, 'agent'::text])))
);
--> statement-breakpoint
CREATE TABLE labels (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    name text NOT NULL,
    color text NOT NULL,
    description text,
    created_at timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT labels_color CHECK ((color ~ '^#[0-9A-Fa-f]{6}$'::text))
);
--> statement-breakpoint
CREATE TABLE lane_faults (
    organization_id uuid NOT NULL,
    lane_id uuid NOT NULL,
    error text NOT NULL,
    failing_since timestamp with time zone DEFAULT now() NOT NULL,
    tries integer DEFAULT 1 NOT NULL,
    try_at timestamp with time zone NOT NULL,
    tried_id uuid NOT NULL
);
--> statement-breakpoint
CREATE TABLE letters (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    about_id uuid NOT NULL,
    mailbox_id uuid,
    recipient text NOT NULL,
    sealed_text text NOT NULL,
    expires_at timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE macros (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    name text NOT NULL,
    body text,
    is_internal boolean DEFAULT false NOT NULL,
    changes jsonb DEFAULT '{}'::jsonb NOT NULL,
    created_at timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE mailbox_sign_ins (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    "grant" text NOT NULL,
    token_url text NOT NULL,
    client_id text NOT NULL,
    scope text,
    client_secret text,
    refresh_token text,
    access_token text,
    access_token_until timestamp with time zone,
    fetched_by uuid,
    fetched_until timestamp with time zone,
    version uuid NOT NULL,
    CONSTRAINT mailbox_sign_ins_grant CHECK (("grant" = ANY (ARRAY['client_credentials'::text, 'refresh_token'::text])))
);
--> statement-breakpoint
CREATE TABLE mailboxes (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    address text NOT NULL,
    name text,
    active boolean DEFAULT true NOT NULL,
    is_default boolean DEFAULT false NOT NULL,
    plus_addressing boolean DEFAULT true NOT NULL,
    smtp_host text,
    smtp_port integer,
    smtp_security text,
    smtp_username text,
    smtp_password text,
    created_at timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    dkim_domain text,
    dkim_selector text,
    dkim_private_key text,
    verp boolean DEFAULT false NOT NULL,
    address_key text NOT NULL,
    has_address boolean DEFAULT true NOT NULL,
    is_smtp_by_key boolean DEFAULT false NOT NULL,
    signature text,
    CONSTRAINT mailboxes_dkim_complete CHECK ((num_nulls(dkim_domain, dkim_selector, dkim_private_key) = ANY (ARRAY[0, 3]))),
    CONSTRAINT mailboxes_smtp_complete CHECK ((num_nulls(smtp_host, smtp_port, smtp_security) = ANY (ARRAY[0, 3]))),
    CONSTRAINT mailboxes_smtp_port CHECK (((smtp_port >= 1) AND (smtp_port <= 65535))),
    CONSTRAINT mailboxes_smtp_security CHECK ((smtp_security = ANY (ARRAY['none'::text, 'starttls'::text, 'tls'::text])))
);
--> statement-breakpoint
CREATE TABLE memberships (
    organization_id uuid NOT NULL,
    user_id uuid NOT NULL,
    role text DEFAULT 'agent'::text NOT NULL,
    active boolean DEFAULT true NOT NULL,
    hourly_rate numeric(9,2),
    currency text,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    removed_at timestamp with time zone,
    is_imported boolean DEFAULT false NOT NULL,
    CONSTRAINT memberships_currency CHECK ((currency ~ '^[A-Z]{3}$'::text)),
    CONSTRAINT memberships_hourly_rate CHECK (((hourly_rate >= (0)::numeric) AND (hourly_rate <= (1000000)::numeric))),
    CONSTRAINT memberships_role CHECK ((role = ANY (ARRAY['admin'::text, 'agent'::text])))
);
--> statement-breakpoint
CREATE TABLE merged_contacts (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    contact_id uuid NOT NULL,
    external_id text
);
--> statement-breakpoint
CREATE TABLE message_recipients (
    organization_id uuid NOT NULL,
    message_id uuid NOT NULL,
    "position" integer NOT NULL,
    kind text NOT NULL,
    name text,
    email text NOT NULL,
    status text DEFAULT 'queued'::text NOT NULL,
    error text,
    email_key text NOT NULL,
    CONSTRAINT message_recipients_kind CHECK ((kind = ANY (ARRAY['to'::text, 'cc'::text]))),
    CONSTRAINT message_recipients_status CHECK ((status = ANY (ARRAY['queued'::text, 'sent'::text, 'failed'::text, 'bounced'::text])))
);
--> statement-breakpoint
CREATE TABLE messages (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    ticket_id uuid NOT NULL,
    body text NOT NULL,
    body_html text NOT NULL,
    reply_text text,
    is_internal boolean DEFAULT false NOT NULL,
    direction text,
    sender_name text NOT NULL,
    sender_email text,
    auto_reply boolean DEFAULT false NOT NULL,
    cc text[] DEFAULT '{}'::text[] NOT NULL,
    email_message_id text,
    email_status text DEFAULT 'none'::text NOT NULL,
    email_error text,
    created_at timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
    sender_verified boolean,
    reply_to text,
    drafted_by jsonb,
    original_ticket_id uuid,
    channel text,
    signature_html text,
    mailbox_id uuid,
    email_attempts integer,
    server_response text,
    email_tries jsonb,
    CONSTRAINT messages_direction CHECK ((direction = ANY (ARRAY['inbound'::text, 'outbound'::text]))),
    CONSTRAINT messages_email_status CHECK ((email_status = ANY (ARRAY['none'::text, 'queued'::text, 'sent'::text, 'failed'::text, 'bounced'::text]))),
    CONSTRAINT messages_note CHECK ((is_internal = (direction IS NULL)))
);
--> statement-breakpoint
CREATE TABLE organizations (
    id uuid NOT NULL,
    number integer NOT NULL,
    name text NOT NULL,
    ticket_prefix text DEFAULT 'TKT'::text NOT NULL,
    hourly_rate numeric(9,2),
    currency text DEFAULT 'USD'::text NOT NULL,
    reopen_on_reply boolean DEFAULT true NOT NULL,
    created_at timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    sender_policy text DEFAULT 'flag'::text NOT NULL,
    form_senders text[] DEFAULT '{}'::text[] NOT NULL,
    require_second_factor boolean DEFAULT false NOT NULL,
    portal_origins text[] DEFAULT '{}'::text[] NOT NULL,
    spam_policy text DEFAULT 'hold'::text NOT NULL,
    CONSTRAINT organizations_currency CHECK ((currency ~ '^[A-Z]{3}$'::text)),
    CONSTRAINT organizations_hourly_rate CHECK (((hourly_rate >= (0)::numeric) AND (hourly_rate <= (1000000)::numeric))),
    CONSTRAINT organizations_sender_policy CHECK ((sender_policy = ANY (ARRAY['flag'::text, 'restrict'::text]))),
    CONSTRAINT organizations_spam_policy CHECK ((spam_policy = ANY (ARRAY['hold'::text, 'mark'::text]))),
    CONSTRAINT organizations_ticket_prefix CHECK ((ticket_prefix ~ '^[A-Z][A-Z0-9]{0,9}$'::text))
);
--> statement-breakpoint
ALTER TABLE organizations ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME organizations_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
--> statement-breakpoint
CREATE TABLE outbox (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    kind text NOT NULL,
    lane_id uuid NOT NULL,
    run_at timestamp with time zone DEFAULT now() NOT NULL,
    lease_until timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    lease_token uuid,
    attempts integer DEFAULT 0 NOT NULL,
    claims integer DEFAULT 0 NOT NULL,
    traceparent text,
    queued_at timestamp with time zone DEFAULT now() NOT NULL,
    place bigint,
    nth integer,
    CONSTRAINT outbox_counts CHECK (((attempts >= 0) AND (claims >= 0))),
    CONSTRAINT outbox_kind CHECK ((kind = ANY (ARRAY['webhook'::text, 'email'::text, 'inbound'::text, 'letter'::text])))
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000', autovacuum_vacuum_cost_delay='0', vacuum_truncate=off);
--> statement-breakpoint
CREATE TABLE participants (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    ticket_id uuid NOT NULL,
    name text,
    email text NOT NULL,
    contact_id uuid,
    confirmed boolean DEFAULT true NOT NULL,
    created_at timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
    email_key text NOT NULL,
    original_ticket_id uuid,
    was_listed boolean DEFAULT false NOT NULL
);
--> statement-breakpoint
CREATE TABLE password_resets (
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    organization_id uuid,
    token_hash bytea NOT NULL,
    created_at timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    used_at timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE provider_tokens (
    organization_id uuid NOT NULL,
    kind text NOT NULL,
    token_hash bytea NOT NULL,
    data jsonb NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT provider_tokens_kind CHECK ((kind = ANY (ARRAY['state'::text, 'code'::text, 'logout'::text])))
);
--> statement-breakpoint
CREATE TABLE refresh_tokens (
    token_hash bytea NOT NULL,
    user_id uuid NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    last_used_at timestamp with time zone,
    ip text,
    user_agent text,
    signed_out_at timestamp with time zone,
    provider_organization_id uuid,
    provider_subject text,
    provider_sid text
);
--> statement-breakpoint
CREATE TABLE refused_messages (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    recipient text NOT NULL,
    envelope_sender text NOT NULL,
    from_keys text[] NOT NULL,
    to_keys text[] NOT NULL,
    smtp_reply text NOT NULL,
    remote_address text NOT NULL,
    helo text,
    tls boolean NOT NULL,
    received_at timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL
);
--> statement-breakpoint
CREATE TABLE released_addresses (
    organization_id uuid NOT NULL,
    address_key text NOT NULL,
    released_at timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE retention (
    organization_id uuid NOT NULL,
    rules jsonb DEFAULT '[]'::jsonb NOT NULL,
    hold_label_ids uuid[] DEFAULT '{}'::uuid[] NOT NULL,
    changed_at timestamp with time zone DEFAULT now() NOT NULL,
    applied_at timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE retention_erasures (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    ids uuid[] NOT NULL
);
--> statement-breakpoint
CREATE TABLE second_factors (
    id uuid NOT NULL,
    secret text NOT NULL,
    made_at timestamp with time zone DEFAULT now() NOT NULL,
    confirmed_at timestamp with time zone,
    last_step integer,
    recovery_codes text[] DEFAULT '{}'::text[] NOT NULL
);
--> statement-breakpoint
CREATE TABLE sender_rules (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    sender text NOT NULL,
    sender_key text NOT NULL,
    action text NOT NULL,
    created_at timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
    CONSTRAINT sender_rules_action CHECK ((action = ANY (ARRAY['block'::text, 'allow'::text])))
);
--> statement-breakpoint
CREATE TABLE sign_in_challenges (
    token_hash bytea NOT NULL,
    user_id uuid NOT NULL,
    wrong_codes integer DEFAULT 0 NOT NULL,
    expires_at timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE stats (
    organization_id uuid NOT NULL,
    size_s integer NOT NULL,
    at timestamp with time zone NOT NULL,
    mail_tickets bigint DEFAULT 0 NOT NULL,
    mail_messages bigint DEFAULT 0 NOT NULL,
    mail_bounces bigint DEFAULT 0 NOT NULL,
    mail_others bigint DEFAULT 0 NOT NULL,
    emails_sent bigint DEFAULT 0 NOT NULL,
    emails_failed bigint DEFAULT 0 NOT NULL,
    emails_bounced bigint DEFAULT 0 NOT NULL,
    deliveries_ok bigint DEFAULT 0 NOT NULL,
    deliveries_failed bigint DEFAULT 0 NOT NULL,
    delivery_ms bigint DEFAULT 0 NOT NULL,
    requests_ok bigint DEFAULT 0 NOT NULL,
    requests_refused bigint DEFAULT 0 NOT NULL,
    requests_failed bigint DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE storage_removals (
    storage_key text NOT NULL,
    due_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT storage_removals_storage_key CHECK ((storage_key ~ '^(attachments|inbound)/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'::text))
);
--> statement-breakpoint
CREATE TABLE tallies (
    organization_id uuid NOT NULL,
    kind text NOT NULL,
    key uuid NOT NULL,
    status text,
    n integer NOT NULL,
    CONSTRAINT tallies_kind CHECK ((kind = ANY (ARRAY['tickets'::text, 'tickets_of_contact'::text, 'tickets_of_company'::text, 'tickets_of_label'::text, 'tickets_of_custom'::text, 'tickets_of_day'::text, 'contacts_of_company'::text])))
)
WITH (fillfactor='80', autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_threshold='1000');
--> statement-breakpoint
CREATE TABLE tally_changes (
    organization_id uuid NOT NULL,
    id bigint NOT NULL,
    kind text NOT NULL,
    key uuid NOT NULL,
    status text,
    n integer NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000', autovacuum_vacuum_cost_delay='0', vacuum_truncate=off);
--> statement-breakpoint
ALTER TABLE tally_changes ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tally_changes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
--> statement-breakpoint
CREATE TABLE ticket_count_changes (
    organization_id uuid NOT NULL,
    id bigint NOT NULL,
    status text NOT NULL,
    priority text NOT NULL,
    assignee_id uuid,
    n integer NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000', autovacuum_vacuum_cost_delay='0', vacuum_truncate=off);
--> statement-breakpoint
ALTER TABLE ticket_count_changes ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME ticket_count_changes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
--> statement-breakpoint
CREATE TABLE ticket_counters (
    organization_id uuid NOT NULL,
    next_number integer DEFAULT 1 NOT NULL
)
WITH (fillfactor='20');
--> statement-breakpoint
CREATE TABLE ticket_counts (
    organization_id uuid NOT NULL,
    status text NOT NULL,
    priority text NOT NULL,
    assignee_id uuid,
    n integer NOT NULL
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000');
--> statement-breakpoint
CREATE TABLE ticket_labels (
    organization_id uuid NOT NULL,
    ticket_id uuid NOT NULL,
    label_id uuid NOT NULL
);
--> statement-breakpoint
CREATE TABLE ticket_search (
    organization_id uuid NOT NULL,
    ticket_id uuid NOT NULL,
    document tsvector NOT NULL,
    size integer NOT NULL
)
WITH (toast_tuple_target='8160');
--> statement-breakpoint
ALTER TABLE ticket_search ALTER COLUMN document SET STORAGE EXTERNAL;
--> statement-breakpoint
CREATE TABLE tickets (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    number integer NOT NULL,
    code text NOT NULL,
    subject text NOT NULL,
    status text DEFAULT 'open'::text NOT NULL,
    priority text DEFAULT 'normal'::text NOT NULL,
    contact_id uuid,
    company_id uuid,
    assignee_id uuid,
    mailbox_id uuid,
    created_at timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    deleted_at timestamp with time zone,
    purged_at timestamp with time zone,
    merged_into_id uuid,
    merged_first_into_id uuid,
    merged_at timestamp with time zone,
    status_before_merge text,
    split_from_id uuid,
    external_id text,
    custom jsonb DEFAULT '{}'::jsonb NOT NULL,
    custom_words uuid[],
    erased_at timestamp with time zone,
    CONSTRAINT tickets_number_positive CHECK ((number > 0)),
    CONSTRAINT tickets_priority CHECK ((priority = ANY (ARRAY['low'::text, 'normal'::text, 'high'::text, 'urgent'::text]))),
    CONSTRAINT tickets_status CHECK ((status = ANY (ARRAY['open'::text, 'pending'::text, 'resolved'::text, 'closed'::text])))
)
WITH (autovacuum_vacuum_scale_factor='0.02', autovacuum_analyze_scale_factor='0.02');
--> statement-breakpoint
CREATE TABLE time_entries (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    ticket_id uuid NOT NULL,
    user_id uuid NOT NULL,
    duration_minutes integer NOT NULL,
    description text,
    billable boolean DEFAULT true NOT NULL,
    rate numeric(9,2),
    currency text NOT NULL,
    amount numeric(14,2) GENERATED ALWAYS AS (round((((duration_minutes)::numeric * rate) / (60)::numeric), 2)) STORED,
    date date NOT NULL,
    created_at timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    company_id uuid,
    original_ticket_id uuid,
    CONSTRAINT time_entries_currency CHECK ((currency ~ '^[A-Z]{3}$'::text)),
    CONSTRAINT time_entries_duration CHECK (((duration_minutes >= 1) AND (duration_minutes <= 525600))),
    CONSTRAINT time_entries_rate CHECK (((rate >= (0)::numeric) AND (rate <= (1000000)::numeric)))
);
--> statement-breakpoint
CREATE TABLE time_total_changes (
    organization_id uuid NOT NULL,
    id bigint NOT NULL,
    date date NOT NULL,
    currency text NOT NULL,
    billable boolean NOT NULL,
    entries integer NOT NULL,
    minutes bigint NOT NULL,
    priced integer NOT NULL,
    amount numeric(20,2) NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000', autovacuum_vacuum_cost_delay='0', vacuum_truncate=off);
--> statement-breakpoint
ALTER TABLE time_total_changes ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME time_total_changes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
--> statement-breakpoint
CREATE TABLE time_totals (
    organization_id uuid NOT NULL,
    date date NOT NULL,
    currency text NOT NULL,
    billable boolean NOT NULL,
    entries integer NOT NULL,
    minutes bigint NOT NULL,
    priced integer NOT NULL,
    amount numeric(20,2) NOT NULL
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000');
--> statement-breakpoint
CREATE TABLE timers (
    organization_id uuid NOT NULL,
    user_id uuid NOT NULL,
    id uuid NOT NULL,
    ticket_id uuid NOT NULL,
    description text,
    billable boolean NOT NULL,
    rate numeric(9,2),
    started_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    original_ticket_id uuid,
    CONSTRAINT timers_rate CHECK (((rate >= (0)::numeric) AND (rate <= (1000000)::numeric)))
);
--> statement-breakpoint
CREATE TABLE users (
    id uuid NOT NULL,
    email text NOT NULL,
    name text NOT NULL,
    password_hash text NOT NULL,
    created_at timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    is_password_held boolean DEFAULT false NOT NULL,
    sessions_ended_at timestamp with time zone,
    email_key text NOT NULL
);
--> statement-breakpoint
CREATE TABLE viewers (
    organization_id uuid NOT NULL,
    ticket_id uuid NOT NULL,
    user_id uuid NOT NULL,
    writing boolean NOT NULL,
    seen_at timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE views (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    name text NOT NULL,
    filter jsonb DEFAULT '{}'::jsonb NOT NULL,
    sort text,
    shared boolean DEFAULT false NOT NULL,
    owner_id uuid,
    created_at timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT views_private_is_owned CHECK ((shared OR (owner_id IS NOT NULL)))
);
--> statement-breakpoint
CREATE TABLE webhooks (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    url text NOT NULL,
    events text[] NOT NULL,
    secret text,
    active boolean DEFAULT true NOT NULL,
    status text DEFAULT 'active'::text NOT NULL,
    failure_count integer DEFAULT 0 NOT NULL,
    created_at timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    deleted_at timestamp with time zone,
    previous_secret text,
    previous_secret_until timestamp with time zone,
    filter jsonb,
    ordered boolean DEFAULT false NOT NULL,
    failed_delivery_id uuid,
    failure_told_at timestamp with time zone,
    CONSTRAINT webhooks_events CHECK ((cardinality(events) > 0)),
    CONSTRAINT webhooks_failure_count CHECK ((failure_count >= 0)),
    CONSTRAINT webhooks_previous_secret CHECK ((num_nulls(previous_secret, previous_secret_until) = ANY (ARRAY[0, 2]))),
    CONSTRAINT webhooks_status CHECK ((status = ANY (ARRAY['active'::text, 'failed'::text])))
);
--> statement-breakpoint
ALTER TABLE account_entries ADD CONSTRAINT account_entries_organization_id_id_pk PRIMARY KEY (organization_id, id);
--> statement-breakpoint
ALTER TABLE activities ADD CONSTRAINT activities_actor_type CHECK ((actor_type = ANY (ARRAY['user'::text, 'api_key'::text, 'contact'::text, 'system'::text]))) NOT VALID;
--> statement-breakpoint
ALTER TABLE activities ADD CONSTRAINT activities_organization_id_id_pk PRIMARY KEY (organization_id, id);
--> statement-breakpoint
ALTER TABLE api_keys ADD CONSTRAINT api_keys_organization_id_id_pk PRIMARY KEY (organization_id, id);
--> statement-breakpoint
ALTER TABLE attachments ADD CONSTRAINT attachments_organization_id_id_pk PRIMARY KEY (organization_id, id);
--> statement-breakpoint
ALTER TABLE attachments ADD CONSTRAINT attachments_scan CHECK ((scan = ANY (ARRAY['clean'::text, 'infected'::text, 'pending'::text, 'skipped'::text]))) NOT VALID;
--> statement-breakpoint
ALTER TABLE audit_log ADD CONSTRAINT audit_log_organization_id_id_pk PRIMARY KEY (organization_id, id);
--> statement-breakpoint
ALTER TABLE companies ADD CONSTRAINT companies_organization_id_id_pk PRIMARY KEY (organization_id, id);
--> statement-breakpoint
ALTER TABLE contact_addresses ADD CONSTRAINT contact_addresses_organization_id_email_key_pk PRIMARY KEY (organization_id, email_key);
--> statement-breakpoint
ALTER TABLE contact_tokens ADD CONSTRAINT contact_tokens_organization_id_id_pk PRIMARY KEY (organization_id, id);
--> statement-breakpoint
ALTER TABLE contacts ADD CONSTRAINT contacts_organization_id_id_pk PRIMARY KEY (organization_id, id);
--> statement-breakpoint
ALTER TABLE deliveries ADD CONSTRAINT deliveries_organization_id_id_pk PRIMARY KEY (organization_id, id);
--> statement-breakpoint
ALTER TABLE delivery_attempts ADD CONSTRAINT delivery_attempts_organization_id_delivery_id_attempt_pk PRIMARY KEY (organization_id, delivery_id, attempt);
--> statement-breakpoint
ALTER TABLE domains ADD CONSTRAINT domains_organization_id_id_pk PRIMARY KEY (organization_id, id);
--> statement-breakpoint
ALTER TABLE drafts ADD CONSTRAINT drafts_organization_id_id_pk PRIMARY KEY (organization_id, id);
--> statement-breakpoint
ALTER TABLE email_anchors ADD CONSTRAINT email_anchors_organization_id_email_message_id_ticket_id_pk PRIMARY KEY (organization_id, email_message_id, ticket_id);
--> statement-breakpoint
ALTER TABLE event_feeds ADD CONSTRAINT event_feeds_pkey PRIMARY KEY (organization_id);
--> statement-breakpoint
ALTER TABLE event_places ADD CONSTRAINT event_places_organization_id_place_nth_pk PRIMARY KEY (organization_id, place, nth);
--> statement-breakpoint
ALTER TABLE events ADD CONSTRAINT events_organization_id_id_pk PRIMARY KEY (organization_id, id);
--> statement-breakpoint
ALTER TABLE fills ADD CONSTRAINT fills_organization_id_kind_pk PRIMARY KEY (organization_id, kind);
--> statement-breakpoint
ALTER TABLE idempotency_keys ADD CONSTRAINT idempotency_keys_organization_id_user_id_key_digest_pk PRIMARY KEY (organization_id, user_id, key_digest);
--> statement-breakpoint
ALTER TABLE identities ADD CONSTRAINT identities_organization_id_user_id_pk PRIMARY KEY (organization_id, user_id);
--> statement-breakpoint
ALTER TABLE identity_providers ADD CONSTRAINT identity_providers_organization_id_id_pk PRIMARY KEY (organization_id, id);
--> statement-breakpoint
ALTER TABLE imported_rows ADD CONSTRAINT imported_rows_organization_id_key_pk PRIMARY KEY (organization_id, key);
--> statement-breakpoint
ALTER TABLE inbound_fingerprints ADD CONSTRAINT inbound_fingerprints_organization_id_fingerprint_pk PRIMARY KEY (organization_id, fingerprint);
--> statement-breakpoint
ALTER TABLE inbound_messages ADD CONSTRAINT inbound_messages_organization_id_id_pk PRIMARY KEY (organization_id, id);
--> statement-breakpoint
ALTER TABLE inlets ADD CONSTRAINT inlets_organization_id_id_pk PRIMARY KEY (organization_id, id);
--> statement-breakpoint
ALTER TABLE invitation_letters ADD CONSTRAINT invitation_letters_organization_id_id_pk PRIMARY KEY (organization_id, id);
--> statement-breakpoint
ALTER TABLE invitations ADD CONSTRAINT invitations_organization_id_id_pk PRIMARY KEY (organization_id, id);
--> statement-breakpoint
ALTER TABLE labels ADD CONSTRAINT labels_organization_id_id_pk PRIMARY KEY (organization_id, id);
--> statement-breakpoint
ALTER TABLE lane_faults ADD CONSTRAINT lane_faults_organization_id_lane_id_pk PRIMARY KEY (organization_id, lane_id);
--> statement-breakpoint
ALTER TABLE letters ADD CONSTRAINT letters_organization_id_id_pk PRIMARY KEY (organization_id, id);
--> statement-breakpoint
ALTER TABLE macros ADD CONSTRAINT macros_organization_id_id_pk PRIMARY KEY (organization_id, id);
--> statement-breakpoint
ALTER TABLE mailbox_sign_ins ADD CONSTRAINT mailbox_sign_ins_organization_id_id_pk PRIMARY KEY (organization_id, id);
--> statement-breakpoint
ALTER TABLE mailboxes ADD CONSTRAINT mailboxes_organization_id_id_pk PRIMARY KEY (organization_id, id);
--> statement-breakpoint
ALTER TABLE memberships ADD CONSTRAINT memberships_organization_id_user_id_pk PRIMARY KEY (organization_id, user_id);
--> statement-breakpoint
ALTER TABLE merged_contacts ADD CONSTRAINT merged_contacts_organization_id_id_pk PRIMARY KEY (organization_id, id);
--> statement-breakpoint
ALTER TABLE message_recipients ADD CONSTRAINT message_recipients_organization_id_message_id_position_pk PRIMARY KEY (organization_id, message_id, "position");
--> statement-breakpoint
ALTER TABLE messages ADD CONSTRAINT messages_channel CHECK ((channel = ANY (ARRAY['email'::text, 'api'::text, 'portal'::text]))) NOT VALID;
--> statement-breakpoint
ALTER TABLE messages ADD CONSTRAINT messages_organization_id_id_pk PRIMARY KEY (organization_id, id);
--> statement-breakpoint
ALTER TABLE organizations ADD CONSTRAINT organizations_pkey PRIMARY KEY (id);
--> statement-breakpoint
ALTER TABLE outbox ADD CONSTRAINT outbox_organization_id_id_pk PRIMARY KEY (organization_id, id);
--> statement-breakpoint
ALTER TABLE participants ADD CONSTRAINT participants_organization_id_id_pk PRIMARY KEY (organization_id, id);
--> statement-breakpoint
ALTER TABLE password_resets ADD CONSTRAINT password_resets_pkey PRIMARY KEY (id);
--> statement-breakpoint
ALTER TABLE provider_tokens ADD CONSTRAINT provider_tokens_organization_id_kind_token_hash_pk PRIMARY KEY (organization_id, kind, token_hash);
--> statement-breakpoint
ALTER TABLE refresh_tokens ADD CONSTRAINT refresh_tokens_pkey PRIMARY KEY (token_hash);
--> statement-breakpoint
ALTER TABLE refused_messages ADD CONSTRAINT refused_messages_organization_id_id_pk PRIMARY KEY (organization_id, id);
--> statement-breakpoint
ALTER TABLE released_addresses ADD CONSTRAINT released_addresses_organization_id_address_key_pk PRIMARY KEY (organization_id, address_key);
--> statement-breakpoint
ALTER TABLE retention_erasures ADD CONSTRAINT retention_erasures_organization_id_id_pk PRIMARY KEY (organization_id, id);
--> statement-breakpoint
ALTER TABLE retention ADD CONSTRAINT retention_organization_id_pk PRIMARY KEY (organization_id);
--> statement-breakpoint
ALTER TABLE second_factors ADD CONSTRAINT second_factors_pkey PRIMARY KEY (id);
--> statement-breakpoint
ALTER TABLE sender_rules ADD CONSTRAINT sender_rules_organization_id_id_pk PRIMARY KEY (organization_id, id);
--> statement-breakpoint
ALTER TABLE sign_in_challenges ADD CONSTRAINT sign_in_challenges_pkey PRIMARY KEY (token_hash);
--> statement-breakpoint
ALTER TABLE stats ADD CONSTRAINT stats_organization_id_size_s_at_pk PRIMARY KEY (organization_id, size_s, at);
--> statement-breakpoint
ALTER TABLE storage_removals ADD CONSTRAINT storage_removals_pkey PRIMARY KEY (storage_key);
--> statement-breakpoint
ALTER TABLE tallies ADD CONSTRAINT tallies_key UNIQUE NULLS NOT DISTINCT (organization_id, kind, key, status);
--> statement-breakpoint
ALTER TABLE tally_changes ADD CONSTRAINT tally_changes_organization_id_kind_key_id_pk PRIMARY KEY (organization_id, kind, key, id);
--> statement-breakpoint
ALTER TABLE ticket_count_changes ADD CONSTRAINT ticket_count_changes_organization_id_id_pk PRIMARY KEY (organization_id, id);
--> statement-breakpoint
ALTER TABLE ticket_counters ADD CONSTRAINT ticket_counters_pkey PRIMARY KEY (organization_id);
--> statement-breakpoint
ALTER TABLE ticket_counts ADD CONSTRAINT ticket_counts_kind UNIQUE NULLS NOT DISTINCT (organization_id, status, priority, assignee_id);
--> statement-breakpoint
ALTER TABLE ticket_labels ADD CONSTRAINT ticket_labels_organization_id_ticket_id_label_id_pk PRIMARY KEY (organization_id, ticket_id, label_id);
--> statement-breakpoint
ALTER TABLE ticket_search ADD CONSTRAINT ticket_search_organization_id_ticket_id_pk PRIMARY KEY (organization_id, ticket_id);
--> statement-breakpoint
ALTER TABLE tickets ADD CONSTRAINT tickets_number UNIQUE (organization_id, number);
--> statement-breakpoint
ALTER TABLE tickets ADD CONSTRAINT tickets_organization_id_id_pk PRIMARY KEY (organization_id, id);
--> statement-breakpoint
ALTER TABLE time_entries ADD CONSTRAINT time_entries_organization_id_id_pk PRIMARY KEY (organization_id, id);
--> statement-breakpoint
ALTER TABLE time_total_changes ADD CONSTRAINT time_total_changes_organization_id_id_pk PRIMARY KEY (organization_id, id);
--> statement-breakpoint
ALTER TABLE time_totals ADD CONSTRAINT time_totals_organization_id_date_currency_billable_pk PRIMARY KEY (organization_id, date, currency, billable);
--> statement-breakpoint
ALTER TABLE timers ADD CONSTRAINT timers_organization_id_user_id_pk PRIMARY KEY (organization_id, user_id);
--> statement-breakpoint
ALTER TABLE users ADD CONSTRAINT users_pkey PRIMARY KEY (id);
--> statement-breakpoint
ALTER TABLE viewers ADD CONSTRAINT viewers_organization_id_ticket_id_user_id_pk PRIMARY KEY (organization_id, ticket_id, user_id);
--> statement-breakpoint
ALTER TABLE views ADD CONSTRAINT views_organization_id_id_pk PRIMARY KEY (organization_id, id);
--> statement-breakpoint
ALTER TABLE webhooks ADD CONSTRAINT webhooks_organization_id_id_pk PRIMARY KEY (organization_id, id);
--> statement-breakpoint
CREATE INDEX account_entries_user ON account_entries USING btree (user_id);
--> statement-breakpoint
CREATE INDEX activities_ticket ON activities USING btree (organization_id, ticket_id, id);
--> statement-breakpoint
CREATE UNIQUE INDEX api_keys_hash ON api_keys USING btree (key_hash);
--> statement-breakpoint
CREATE UNIQUE INDEX api_keys_prefix ON api_keys USING btree (prefix);
--> statement-breakpoint
CREATE INDEX attachments_draft ON attachments USING btree (organization_id, draft_id) WHERE (draft_id IS NOT NULL);
--> statement-breakpoint
CREATE INDEX attachments_message ON attachments USING btree (organization_id, message_id, id);
--> statement-breakpoint
CREATE INDEX attachments_pending ON attachments USING btree (organization_id, id) WHERE (scan = 'pending'::text);
--> statement-breakpoint
CREATE INDEX attachments_storage ON attachments USING btree (storage_key);
--> statement-breakpoint
CREATE INDEX attachments_unused ON attachments USING btree (id) WHERE (message_id IS NULL);
--> statement-breakpoint
CREATE INDEX attachments_unused_by ON attachments USING btree (organization_id, uploader_id) WHERE (message_id IS NULL);
--> statement-breakpoint
CREATE INDEX audit_log_action ON audit_log USING btree (organization_id, action, id);
--> statement-breakpoint
CREATE INDEX audit_log_actor ON audit_log USING btree (organization_id, actor_id, id);
--> statement-breakpoint
CREATE INDEX audit_log_age ON audit_log USING btree (created_at);
--> statement-breakpoint
CREATE INDEX audit_log_resource ON audit_log USING btree (organization_id, resource_id, id);
--> statement-breakpoint
CREATE INDEX companies_custom ON companies USING gin (custom_words) WHERE (custom_words IS NOT NULL);
--> statement-breakpoint
CREATE INDEX companies_domains ON companies USING gin (organization_id, domains);
--> statement-breakpoint
CREATE UNIQUE INDEX companies_external_id ON companies USING btree (organization_id, external_id) WHERE (external_id IS NOT NULL);
--> statement-breakpoint
CREATE INDEX contact_addresses_contact ON contact_addresses USING btree (organization_id, contact_id);
--> statement-breakpoint
CREATE INDEX contact_tokens_contact ON contact_tokens USING btree (organization_id, contact_id);
--> statement-breakpoint
CREATE INDEX contact_tokens_expiry ON contact_tokens USING btree (expires_at);
--> statement-breakpoint
CREATE UNIQUE INDEX contact_tokens_hash ON contact_tokens USING btree (organization_id, token_hash);
--> statement-breakpoint
CREATE INDEX contacts_company ON contacts USING btree (organization_id, company_id, id);
--> statement-breakpoint
CREATE INDEX contacts_custom ON contacts USING gin (custom_words) WHERE (custom_words IS NOT NULL);
--> statement-breakpoint
CREATE UNIQUE INDEX contacts_email ON contacts USING btree (organization_id, email_key);
--> statement-breakpoint
CREATE UNIQUE INDEX contacts_external_id ON contacts USING btree (organization_id, external_id) WHERE (external_id IS NOT NULL);
--> statement-breakpoint
CREATE INDEX contacts_list ON contacts USING btree (organization_id, id) INCLUDE (search);
--> statement-breakpoint
CREATE INDEX contacts_name ON contacts USING btree (organization_id, lower(name), id);
--> statement-breakpoint
CREATE INDEX contacts_search ON contacts USING gin (organization_id, search gin_trgm_ops);
--> statement-breakpoint
CREATE INDEX contacts_updated ON contacts USING btree (organization_id, updated_at, id);
--> statement-breakpoint
CREATE INDEX deliveries_age ON deliveries USING btree (id);
--> statement-breakpoint
CREATE INDEX deliveries_event ON deliveries USING btree (organization_id, event_id);
--> statement-breakpoint
CREATE INDEX deliveries_webhook ON deliveries USING btree (organization_id, webhook_id, id);
--> statement-breakpoint
CREATE UNIQUE INDEX domains_domain ON domains USING btree (organization_id, domain);
--> statement-breakpoint
CREATE INDEX drafts_author ON drafts USING btree (organization_id, author_id, id);
--> statement-breakpoint
CREATE INDEX drafts_ticket ON drafts USING btree (organization_id, ticket_id, id);
--> statement-breakpoint
CREATE INDEX email_anchors_message ON email_anchors USING btree (organization_id, message_id);
--> statement-breakpoint
CREATE INDEX email_anchors_ticket ON email_anchors USING btree (organization_id, ticket_id);
--> statement-breakpoint
CREATE INDEX event_places_age ON event_places USING btree (happened_at);
--> statement-breakpoint
CREATE UNIQUE INDEX event_places_event ON event_places USING btree (organization_id, event_id);
--> statement-breakpoint
CREATE INDEX event_places_long ON event_places USING btree (organization_id, place) WHERE (began_at IS NOT NULL);
--> statement-breakpoint
CREATE INDEX events_age ON events USING btree (id);
--> statement-breakpoint
CREATE INDEX idempotency_keys_age ON idempotency_keys USING btree (created_at);
--> statement-breakpoint
CREATE UNIQUE INDEX identities_subject ON identities USING btree (organization_id, issuer, subject);
--> statement-breakpoint
CREATE UNIQUE INDEX identity_providers_organization ON identity_providers USING btree (organization_id);
--> statement-breakpoint
CREATE INDEX inbound_fingerprints_message ON inbound_fingerprints USING btree (organization_id, inbound_message_id);
--> statement-breakpoint
CREATE INDEX inbound_messages_age ON inbound_messages USING btree (id) WHERE (storage_key IS NOT NULL);
--> statement-breakpoint
CREATE INDEX inbound_messages_mailbox ON inbound_messages USING btree (organization_id, mailbox_id, id);
--> statement-breakpoint
CREATE INDEX inbound_messages_outcome ON inbound_messages USING btree (organization_id, outcome, id);
--> statement-breakpoint
CREATE INDEX inbound_messages_storage ON inbound_messages USING btree (storage_key);
--> statement-breakpoint
CREATE UNIQUE INDEX inlets_hash ON inlets USING btree (token_hash);
--> statement-breakpoint
CREATE UNIQUE INDEX inlets_present ON inlets USING btree (organization_id, mailbox_id) WHERE (ends_at IS NULL);
--> statement-breakpoint
CREATE INDEX invitation_letters_address ON invitation_letters USING btree (email_key, sent_at);
--> statement-breakpoint
CREATE INDEX invitation_letters_organization ON invitation_letters USING btree (organization_id, sent_at);
--> statement-breakpoint
CREATE INDEX invitations_address ON invitations USING btree (email_key);
--> statement-breakpoint
CREATE UNIQUE INDEX invitations_email ON invitations USING btree (organization_id, email_key);
--> statement-breakpoint
CREATE INDEX invitations_expiry ON invitations USING btree (expires_at);
--> statement-breakpoint
CREATE UNIQUE INDEX invitations_token ON invitations USING btree (token_hash);
--> statement-breakpoint
CREATE UNIQUE INDEX labels_name ON labels USING btree (organization_id, lower(name));
--> statement-breakpoint
CREATE INDEX letters_about ON letters USING btree (organization_id, about_id);
--> statement-breakpoint
CREATE INDEX letters_expiry ON letters USING btree (expires_at);
--> statement-breakpoint
CREATE UNIQUE INDEX macros_name ON macros USING btree (organization_id, lower(name));
--> statement-breakpoint
CREATE UNIQUE INDEX mailboxes_address ON mailboxes USING btree (address_key) WHERE has_address;
--> statement-breakpoint
CREATE UNIQUE INDEX mailboxes_default ON mailboxes USING btree (organization_id) WHERE is_default;
--> statement-breakpoint
CREATE UNIQUE INDEX mailboxes_own_address ON mailboxes USING btree (organization_id, address_key);
--> statement-breakpoint
CREATE INDEX memberships_user ON memberships USING btree (user_id, created_at);
--> statement-breakpoint
CREATE INDEX merged_contacts_contact ON merged_contacts USING btree (organization_id, contact_id);
--> statement-breakpoint
CREATE UNIQUE INDEX merged_contacts_external_id ON merged_contacts USING btree (organization_id, external_id) WHERE (external_id IS NOT NULL);
--> statement-breakpoint
CREATE INDEX message_recipients_domain ON message_recipients USING btree (organization_id, "substring"(email_key, '[^@]*$'::text), message_id);
--> statement-breakpoint
CREATE INDEX message_recipients_email ON message_recipients USING btree (organization_id, email_key, message_id);
--> statement-breakpoint
CREATE INDEX messages_mailbox ON messages USING btree (organization_id, mailbox_id, id) WHERE (mailbox_id IS NOT NULL);
--> statement-breakpoint
CREATE INDEX messages_outbound ON messages USING btree (organization_id, id, ticket_id) WHERE (email_status <> 'none'::text);
--> statement-breakpoint
CREATE INDEX messages_ticket ON messages USING btree (organization_id, ticket_id, id);
--> statement-breakpoint
CREATE INDEX messages_undelivered ON messages USING btree (organization_id, email_status, id) WHERE (email_status = ANY (ARRAY['queued'::text, 'failed'::text, 'bounced'::text]));
--> statement-breakpoint
CREATE INDEX outbox_due ON outbox USING btree (kind, run_at);
--> statement-breakpoint
CREATE INDEX outbox_lane ON outbox USING btree (lane_id, run_at);
--> statement-breakpoint
CREATE INDEX outbox_waiting ON outbox USING btree (lane_id, place, nth) WHERE (run_at = 'infinity'::timestamp with time zone);
--> statement-breakpoint
CREATE INDEX participants_contact ON participants USING btree (organization_id, contact_id);
--> statement-breakpoint
CREATE UNIQUE INDEX participants_email ON participants USING btree (organization_id, ticket_id, email_key);
--> statement-breakpoint
CREATE INDEX password_resets_expiry ON password_resets USING btree (expires_at);
--> statement-breakpoint
CREATE UNIQUE INDEX password_resets_token ON password_resets USING btree (token_hash);
--> statement-breakpoint
CREATE INDEX password_resets_user ON password_resets USING btree (user_id);
--> statement-breakpoint
CREATE INDEX provider_tokens_expiry ON provider_tokens USING btree (expires_at);
--> statement-breakpoint
CREATE INDEX refresh_tokens_expiry ON refresh_tokens USING btree (expires_at);
--> statement-breakpoint
CREATE UNIQUE INDEX refresh_tokens_id ON refresh_tokens USING btree (id);
--> statement-breakpoint
CREATE INDEX refresh_tokens_provider ON refresh_tokens USING btree (provider_organization_id, provider_subject) WHERE (provider_organization_id IS NOT NULL);
--> statement-breakpoint
CREATE INDEX refresh_tokens_user ON refresh_tokens USING btree (user_id);
--> statement-breakpoint
CREATE INDEX released_addresses_key ON released_addresses USING btree (address_key);
--> statement-breakpoint
CREATE UNIQUE INDEX sender_rules_sender ON sender_rules USING btree (organization_id, sender_key);
--> statement-breakpoint
CREATE INDEX sign_in_challenges_expiry ON sign_in_challenges USING btree (expires_at);
--> statement-breakpoint
CREATE INDEX sign_in_challenges_user ON sign_in_challenges USING btree (user_id);
--> statement-breakpoint
CREATE INDEX storage_removals_due ON storage_removals USING btree (due_at);
--> statement-breakpoint
CREATE INDEX ticket_labels_label ON ticket_labels USING btree (organization_id, label_id, ticket_id);
--> statement-breakpoint
CREATE INDEX ticket_search_document ON ticket_search USING gin (document) WITH (fastupdate='on', gin_pending_list_limit='256');
--> statement-breakpoint
CREATE INDEX tickets_assignee ON tickets USING btree (organization_id, assignee_id, status, id) WHERE (deleted_at IS NULL);
--> statement-breakpoint
CREATE INDEX tickets_company ON tickets USING btree (organization_id, company_id, id) WHERE (deleted_at IS NULL);
--> statement-breakpoint
CREATE INDEX tickets_contact ON tickets USING btree (organization_id, contact_id, id) WHERE (deleted_at IS NULL);
--> statement-breakpoint
CREATE INDEX tickets_deleted ON tickets USING btree (deleted_at) WHERE ((deleted_at IS NOT NULL) AND (purged_at IS NULL));
--> statement-breakpoint
CREATE UNIQUE INDEX tickets_external_id ON tickets USING btree (organization_id, external_id) WHERE ((external_id IS NOT NULL) AND (deleted_at IS NULL));
--> statement-breakpoint
CREATE INDEX tickets_live ON tickets USING btree (organization_id, id) WHERE (deleted_at IS NULL);
--> statement-breakpoint
CREATE INDEX tickets_merged ON tickets USING btree (organization_id, merged_into_id, id) WHERE (merged_into_id IS NOT NULL);
--> statement-breakpoint
CREATE INDEX tickets_priority ON tickets USING btree (organization_id, ticket_rank(priority), id) WHERE (deleted_at IS NULL);
--> statement-breakpoint
CREATE INDEX tickets_resting ON tickets USING btree (organization_id, status, updated_at, id, company_id, erased_at) WHERE ((deleted_at IS NULL) AND (merged_into_id IS NULL) AND (status = ANY (ARRAY['resolved'::text, 'closed'::text])));
--> statement-breakpoint
CREATE INDEX tickets_status ON tickets USING btree (organization_id, status, id) WHERE (deleted_at IS NULL);
--> statement-breakpoint
CREATE INDEX tickets_updated ON tickets USING btree (organization_id, updated_at, id) WHERE (deleted_at IS NULL);
--> statement-breakpoint
CREATE INDEX time_entries_company ON time_entries USING btree (organization_id, company_id, date, id) INCLUDE (duration_minutes, billable, amount, currency);
--> statement-breakpoint
CREATE INDEX time_entries_date ON time_entries USING btree (organization_id, date, id) INCLUDE (company_id, user_id, duration_minutes, billable, amount, currency);
--> statement-breakpoint
CREATE INDEX time_entries_ticket ON time_entries USING btree (organization_id, ticket_id, date, id);
--> statement-breakpoint
CREATE INDEX time_entries_user ON time_entries USING btree (organization_id, user_id, date, id) INCLUDE (duration_minutes, billable, amount, currency);
--> statement-breakpoint
CREATE UNIQUE INDEX timers_id ON timers USING btree (organization_id, id);
--> statement-breakpoint
CREATE INDEX timers_ticket ON timers USING btree (organization_id, ticket_id);
--> statement-breakpoint
CREATE UNIQUE INDEX users_email ON users USING btree (email_key);
--> statement-breakpoint
CREATE INDEX viewers_age ON viewers USING btree (seen_at);
--> statement-breakpoint
CREATE INDEX views_owner ON views USING btree (organization_id, owner_id);
--> statement-breakpoint
CREATE TRIGGER audit_log_append_only BEFORE DELETE OR UPDATE ON audit_log FOR EACH STATEMENT EXECUTE FUNCTION protect_audit_log();
--> statement-breakpoint
CREATE TRIGGER audit_log_no_truncate BEFORE TRUNCATE ON audit_log FOR EACH STATEMENT EXECUTE FUNCTION protect_audit_log();
--> statement-breakpoint
CREATE TRIGGER contacts_address_taken BEFORE INSERT ON contacts FOR EACH ROW EXECUTE FUNCTION refuse_taken_address();
--> statement-breakpoint
CREATE TRIGGER contacts_change AFTER UPDATE OF company_id ON contacts FOR EACH ROW WHEN ((old.company_id IS DISTINCT FROM new.company_id)) EXECUTE FUNCTION tally_contacts();
--> statement-breakpoint
CREATE TRIGGER contacts_come_and_go AFTER INSERT OR DELETE ON contacts FOR EACH ROW EXECUTE FUNCTION tally_contacts();
--> statement-breakpoint
CREATE TRIGGER contacts_primary_address_changed AFTER UPDATE OF email, email_key ON contacts FOR EACH ROW WHEN (((old.email_key <> new.email_key) OR (old.email <> new.email))) EXECUTE FUNCTION keep_primary_address();
--> statement-breakpoint
CREATE TRIGGER contacts_primary_address_made AFTER INSERT ON contacts FOR EACH ROW EXECUTE FUNCTION keep_primary_address();
--> statement-breakpoint
CREATE TRIGGER contacts_search_fits BEFORE INSERT OR UPDATE OF search ON contacts FOR EACH ROW WHEN ((octet_length(new.search) > 2400)) EXECUTE FUNCTION cut_search();
--> statement-breakpoint
CREATE CONSTRAINT TRIGGER events_place AFTER INSERT ON events DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new.type <> 'test.ping'::text)) EXECUTE FUNCTION place_event();
--> statement-breakpoint
CREATE TRIGGER outbox_mail_in_turn BEFORE DELETE ON outbox FOR EACH ROW WHEN ((old.kind = 'inbound'::text)) EXECUTE FUNCTION file_in_turn();
--> statement-breakpoint
CREATE TRIGGER ticket_labels_come AFTER INSERT ON ticket_labels REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION tally_labels();
--> statement-breakpoint
CREATE TRIGGER ticket_labels_facets_come AFTER INSERT ON ticket_labels REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION change_label_facets();
--> statement-breakpoint
CREATE TRIGGER ticket_labels_facets_go AFTER DELETE ON ticket_labels REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION change_label_facets();
--> statement-breakpoint
CREATE TRIGGER ticket_labels_go AFTER DELETE ON ticket_labels REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION tally_labels();
--> statement-breakpoint
CREATE TRIGGER ticket_search_in_block AFTER INSERT OR UPDATE OF document ON ticket_search FOR EACH ROW WHEN ((pg_trigger_depth() = 0)) EXECUTE FUNCTION put_in_block();
--> statement-breakpoint
CREATE TRIGGER tickets_change AFTER UPDATE OF status, priority, assignee_id, deleted_at ON tickets FOR EACH ROW
	WHEN ((old.status, old.priority, old.assignee_id, old.deleted_at IS NULL)
		IS DISTINCT FROM (new.status, new.priority, new.assignee_id, new.deleted_at IS NULL))
	EXECUTE FUNCTION count_ticket();
--> statement-breakpoint
CREATE TRIGGER tickets_change_tallies BEFORE UPDATE OF id, status, contact_id, company_id, custom_words, deleted_at ON tickets
	FOR EACH ROW
	WHEN ((old.id, old.status, old.contact_id, old.company_id, old.custom_words, old.deleted_at IS NULL)
		IS DISTINCT FROM (new.id, new.status, new.contact_id, new.company_id, new.custom_words, new.deleted_at IS NULL))
	EXECUTE FUNCTION tally_changed_ticket();
--> statement-breakpoint
CREATE TRIGGER tickets_come AFTER INSERT ON tickets REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION tally_tickets();
--> statement-breakpoint
CREATE TRIGGER tickets_company_of_time AFTER UPDATE OF company_id ON tickets FOR EACH ROW WHEN ((old.company_id IS DISTINCT FROM new.company_id)) EXECUTE FUNCTION pass_company_to_time();
--> statement-breakpoint
CREATE TRIGGER tickets_facets AFTER UPDATE OF status, priority, assignee_id, custom_words ON tickets FOR EACH ROW
	WHEN ((old.status, old.priority, old.assignee_id, old.custom_words)
		IS DISTINCT FROM (new.status, new.priority, new.assignee_id, new.custom_words))
	EXECUTE FUNCTION change_ticket_facets();
--> statement-breakpoint
CREATE TRIGGER tickets_go AFTER DELETE ON tickets REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION tally_tickets();
--> statement-breakpoint
CREATE TRIGGER tickets_go_unlabelled BEFORE DELETE ON tickets FOR EACH ROW WHEN ((old.deleted_at IS NULL)) EXECUTE FUNCTION unlabel_ticket();
--> statement-breakpoint
CREATE TRIGGER time_entries_change AFTER UPDATE OF date, currency, billable, duration_minutes, rate ON time_entries FOR EACH ROW
	WHEN ((old.date, old.currency, old.billable, old.duration_minutes, old.rate)
		IS DISTINCT FROM (new.date, new.currency, new.billable, new.duration_minutes, new.rate))
	EXECUTE FUNCTION sum_up_time();
--> statement-breakpoint
CREATE TRIGGER time_entries_come_and_go AFTER INSERT OR DELETE ON time_entries FOR EACH ROW EXECUTE FUNCTION sum_up_time();
--> statement-breakpoint
CREATE TRIGGER time_entries_company BEFORE INSERT ON time_entries FOR EACH ROW EXECUTE FUNCTION set_time_entry_company();
--> statement-breakpoint
ALTER TABLE activities ADD CONSTRAINT activities_ticket_fk FOREIGN KEY (organization_id, ticket_id) REFERENCES tickets(organization_id, id) ON DELETE CASCADE;
--> statement-breakpoint
ALTER TABLE api_keys ADD CONSTRAINT api_keys_creator_fk FOREIGN KEY (organization_id, created_by_id) REFERENCES memberships(organization_id, user_id);
--> statement-breakpoint
ALTER TABLE api_keys ADD CONSTRAINT api_keys_organization_id_organizations_id_fk FOREIGN KEY (organization_id) REFERENCES organizations(id);
--> statement-breakpoint
ALTER TABLE attachments ADD CONSTRAINT attachments_draft_fk FOREIGN KEY (organization_id, draft_id) REFERENCES drafts(organization_id, id) ON DELETE CASCADE;
--> statement-breakpoint
ALTER TABLE attachments ADD CONSTRAINT attachments_message_fk FOREIGN KEY (organization_id, message_id) REFERENCES messages(organization_id, id) ON DELETE CASCADE;
--> statement-breakpoint
ALTER TABLE companies ADD CONSTRAINT companies_organization_id_organizations_id_fk FOREIGN KEY (organization_id) REFERENCES organizations(id);
--> statement-breakpoint
ALTER TABLE contact_addresses ADD CONSTRAINT contact_addresses_contact_fk FOREIGN KEY (organization_id, contact_id) REFERENCES contacts(organization_id, id) ON DELETE CASCADE;
--> statement-breakpoint
ALTER TABLE contact_tokens ADD CONSTRAINT contact_tokens_contact_fk FOREIGN KEY (organization_id, contact_id) REFERENCES contacts(organization_id, id) ON DELETE CASCADE;
--> statement-breakpoint
ALTER TABLE contacts ADD CONSTRAINT contacts_company_fk FOREIGN KEY (organization_id, company_id) REFERENCES companies(organization_id, id) ON DELETE SET NULL (company_id);
--> statement-breakpoint
ALTER TABLE contacts ADD CONSTRAINT contacts_organization_id_organizations_id_fk FOREIGN KEY (organization_id) REFERENCES organizations(id);
--> statement-breakpoint
ALTER TABLE deliveries ADD CONSTRAINT deliveries_event_fk FOREIGN KEY (organization_id, event_id) REFERENCES events(organization_id, id) ON DELETE CASCADE;
--> statement-breakpoint
ALTER TABLE deliveries ADD CONSTRAINT deliveries_webhook_fk FOREIGN KEY (organization_id, webhook_id) REFERENCES webhooks(organization_id, id) ON DELETE CASCADE;
--> statement-breakpoint
ALTER TABLE delivery_attempts ADD CONSTRAINT delivery_attempts_delivery_fk FOREIGN KEY (organization_id, delivery_id) REFERENCES deliveries(organization_id, id) ON DELETE CASCADE;
--> statement-breakpoint
ALTER TABLE domains ADD CONSTRAINT domains_organization_id_organizations_id_fk FOREIGN KEY (organization_id) REFERENCES organizations(id);
--> statement-breakpoint
ALTER TABLE drafts ADD CONSTRAINT drafts_ticket_fk FOREIGN KEY (organization_id, ticket_id) REFERENCES tickets(organization_id, id) ON DELETE CASCADE;
--> statement-breakpoint
ALTER TABLE email_anchors ADD CONSTRAINT email_anchors_message_fk FOREIGN KEY (organization_id, message_id) REFERENCES messages(organization_id, id) ON DELETE SET NULL (message_id);
--> statement-breakpoint
ALTER TABLE email_anchors ADD CONSTRAINT email_anchors_ticket_fk FOREIGN KEY (organization_id, ticket_id) REFERENCES tickets(organization_id, id) ON DELETE CASCADE;
--> statement-breakpoint
ALTER TABLE fills ADD CONSTRAINT fills_organization_id_organizations_id_fk FOREIGN KEY (organization_id) REFERENCES organizations(id);
--> statement-breakpoint
ALTER TABLE identities ADD CONSTRAINT identities_membership_fk FOREIGN KEY (organization_id, user_id) REFERENCES memberships(organization_id, user_id) ON DELETE CASCADE;
--> statement-breakpoint
ALTER TABLE identity_providers ADD CONSTRAINT identity_providers_organization_id_organizations_id_fk FOREIGN KEY (organization_id) REFERENCES organizations(id);
--> statement-breakpoint
ALTER TABLE imported_rows ADD CONSTRAINT imported_rows_organization_id_organizations_id_fk FOREIGN KEY (organization_id) REFERENCES organizations(id);
--> statement-breakpoint
ALTER TABLE inbound_messages ADD CONSTRAINT inbound_messages_mailbox_fk FOREIGN KEY (organization_id, mailbox_id) REFERENCES mailboxes(organization_id, id) ON DELETE SET NULL (mailbox_id);
--> statement-breakpoint
ALTER TABLE inlets ADD CONSTRAINT inlets_mailbox_fk FOREIGN KEY (organization_id, mailbox_id) REFERENCES mailboxes(organization_id, id) ON DELETE CASCADE;
--> statement-breakpoint
ALTER TABLE inlets ADD CONSTRAINT inlets_organization_id_organizations_id_fk FOREIGN KEY (organization_id) REFERENCES organizations(id);
--> statement-breakpoint
ALTER TABLE invitations ADD CONSTRAINT invitations_organization_id_organizations_id_fk FOREIGN KEY (organization_id) REFERENCES organizations(id);
--> statement-breakpoint
ALTER TABLE labels ADD CONSTRAINT labels_organization_id_organizations_id_fk FOREIGN KEY (organization_id) REFERENCES organizations(id);
--> statement-breakpoint
ALTER TABLE macros ADD CONSTRAINT macros_organization_id_organizations_id_fk FOREIGN KEY (organization_id) REFERENCES organizations(id);
--> statement-breakpoint
ALTER TABLE mailboxes ADD CONSTRAINT mailboxes_organization_id_organizations_id_fk FOREIGN KEY (organization_id) REFERENCES organizations(id);
--> statement-breakpoint
ALTER TABLE memberships ADD CONSTRAINT memberships_organization_id_organizations_id_fk FOREIGN KEY (organization_id) REFERENCES organizations(id);
--> statement-breakpoint
ALTER TABLE memberships ADD CONSTRAINT memberships_user_id_users_id_fk FOREIGN KEY (user_id) REFERENCES users(id);
--> statement-breakpoint
ALTER TABLE merged_contacts ADD CONSTRAINT merged_contacts_contact_fk FOREIGN KEY (organization_id, contact_id) REFERENCES contacts(organization_id, id) ON DELETE CASCADE;
--> statement-breakpoint
ALTER TABLE message_recipients ADD CONSTRAINT message_recipients_message_fk FOREIGN KEY (organization_id, message_id) REFERENCES messages(organization_id, id) ON DELETE CASCADE;
--> statement-breakpoint
ALTER TABLE messages ADD CONSTRAINT messages_ticket_fk FOREIGN KEY (organization_id, ticket_id) REFERENCES tickets(organization_id, id) ON DELETE CASCADE;
--> statement-breakpoint
ALTER TABLE participants ADD CONSTRAINT participants_contact_fk FOREIGN KEY (organization_id, contact_id) REFERENCES contacts(organization_id, id) ON DELETE SET NULL (contact_id);
--> statement-breakpoint
ALTER TABLE participants ADD CONSTRAINT participants_ticket_fk FOREIGN KEY (organization_id, ticket_id) REFERENCES tickets(organization_id, id) ON DELETE CASCADE;
--> statement-breakpoint
ALTER TABLE password_resets ADD CONSTRAINT password_resets_user_id_users_id_fk FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE;
--> statement-breakpoint
ALTER TABLE refresh_tokens ADD CONSTRAINT refresh_tokens_user_id_users_id_fk FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE;
--> statement-breakpoint
ALTER TABLE released_addresses ADD CONSTRAINT released_addresses_organization_id_organizations_id_fk FOREIGN KEY (organization_id) REFERENCES organizations(id);
--> statement-breakpoint
ALTER TABLE second_factors ADD CONSTRAINT second_factors_id_users_id_fk FOREIGN KEY (id) REFERENCES users(id) ON DELETE CASCADE;
--> statement-breakpoint
ALTER TABLE sign_in_challenges ADD CONSTRAINT sign_in_challenges_user_id_users_id_fk FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE;
--> statement-breakpoint
ALTER TABLE ticket_counters ADD CONSTRAINT ticket_counters_organization_id_organizations_id_fk FOREIGN KEY (organization_id) REFERENCES organizations(id);
--> statement-breakpoint
ALTER TABLE ticket_counts ADD CONSTRAINT ticket_counts_organization_id_organizations_id_fk FOREIGN KEY (organization_id) REFERENCES organizations(id);
--> statement-breakpoint
ALTER TABLE ticket_labels ADD CONSTRAINT ticket_labels_label_fk FOREIGN KEY (organization_id, label_id) REFERENCES labels(organization_id, id) ON DELETE CASCADE;
--> statement-breakpoint
ALTER TABLE ticket_labels ADD CONSTRAINT ticket_labels_ticket_fk FOREIGN KEY (organization_id, ticket_id) REFERENCES tickets(organization_id, id) ON DELETE CASCADE;
--> statement-breakpoint
ALTER TABLE ticket_search ADD CONSTRAINT ticket_search_ticket_fk FOREIGN KEY (organization_id, ticket_id) REFERENCES tickets(organization_id, id) ON DELETE CASCADE;
--> statement-breakpoint
ALTER TABLE tickets ADD CONSTRAINT tickets_assignee_fk FOREIGN KEY (organization_id, assignee_id) REFERENCES memberships(organization_id, user_id);
--> statement-breakpoint
ALTER TABLE tickets ADD CONSTRAINT tickets_company_fk FOREIGN KEY (organization_id, company_id) REFERENCES companies(organization_id, id) ON DELETE SET NULL (company_id);
--> statement-breakpoint
ALTER TABLE tickets ADD CONSTRAINT tickets_contact_fk FOREIGN KEY (organization_id, contact_id) REFERENCES contacts(organization_id, id) ON DELETE SET NULL (contact_id);
--> statement-breakpoint
ALTER TABLE tickets ADD CONSTRAINT tickets_mailbox_fk FOREIGN KEY (organization_id, mailbox_id) REFERENCES mailboxes(organization_id, id) ON DELETE SET NULL (mailbox_id);
--> statement-breakpoint
ALTER TABLE time_entries ADD CONSTRAINT time_entries_ticket_fk FOREIGN KEY (organization_id, ticket_id) REFERENCES tickets(organization_id, id) ON DELETE RESTRICT;
--> statement-breakpoint
ALTER TABLE time_entries ADD CONSTRAINT time_entries_user_fk FOREIGN KEY (organization_id, user_id) REFERENCES memberships(organization_id, user_id);
--> statement-breakpoint
ALTER TABLE time_totals ADD CONSTRAINT time_totals_organization_id_organizations_id_fk FOREIGN KEY (organization_id) REFERENCES organizations(id);
--> statement-breakpoint
ALTER TABLE timers ADD CONSTRAINT timers_organization_id_organizations_id_fk FOREIGN KEY (organization_id) REFERENCES organizations(id);
--> statement-breakpoint
ALTER TABLE timers ADD CONSTRAINT timers_ticket_fk FOREIGN KEY (organization_id, ticket_id) REFERENCES tickets(organization_id, id) ON DELETE RESTRICT;
--> statement-breakpoint
ALTER TABLE timers ADD CONSTRAINT timers_user_fk FOREIGN KEY (organization_id, user_id) REFERENCES memberships(organization_id, user_id);
--> statement-breakpoint
ALTER TABLE viewers ADD CONSTRAINT viewers_ticket_fk FOREIGN KEY (organization_id, ticket_id) REFERENCES tickets(organization_id, id) ON DELETE CASCADE;
--> statement-breakpoint
ALTER TABLE views ADD CONSTRAINT views_organization_id_organizations_id_fk FOREIGN KEY (organization_id) REFERENCES organizations(id);
--> statement-breakpoint
ALTER TABLE views ADD CONSTRAINT views_owner_fk FOREIGN KEY (organization_id, owner_id) REFERENCES memberships(organization_id, user_id);
--> statement-breakpoint
ALTER TABLE webhooks ADD CONSTRAINT webhooks_organization_id_organizations_id_fk FOREIGN KEY (organization_id) REFERENCES organizations(id);
