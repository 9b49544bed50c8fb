CREATE TABLE "event_feeds" (
	"organization_id" uuid PRIMARY KEY NOT NULL,
	"epoch" uuid,
	"removed_place" bigint DEFAULT 0 NOT NULL,
	"removed_until" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "event_places" (
	"organization_id" uuid NOT NULL,
	"place" bigint NOT NULL,
	"nth" integer NOT NULL,
	"event_id" uuid NOT NULL,
	"type" text NOT NULL,
	"resource_id" uuid,
	"ticket_id" uuid,
	"happened_at" timestamp with time zone NOT NULL,
	"began_at" timestamp with time zone,
	CONSTRAINT "event_places_organization_id_place_nth_pk" PRIMARY KEY("organization_id","place","nth")
);--> statement-breakpoint
CREATE UNIQUE INDEX "event_places_event" ON "event_places" USING btree ("organization_id","event_id");--> statement-breakpoint
CREATE INDEX "event_places_age" ON "event_places" USING btree ("happened_at");--> statement-breakpoint
CREATE INDEX "event_places_long" ON "event_places" USING btree ("organization_id","place") WHERE "event_places"."began_at" is not null;
--> statement-breakpoint
-- Completed by hand: gives each event its place at the commit, whichever release wrote it. Nothing of a client can come
-- between this and the end of the commit, so a client that is paused holds nobody back. The lock is shared: commits do not
-- wait for each other. `test.ping` has no place.
CREATE FUNCTION place_event() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	-- Is empty again when the transaction ends: organization, place and number of the event before this one.
	former text[] := string_to_array(current_setting('deskwire.event_place', true), ' ');
	at_place bigint;
	at_nth integer := 0;
	resource uuid := NEW.resource_id;
	ticket uuid := NEW.ticket_id;
BEGIN
	IF former[1] = NEW.organization_id::text THEN
		at_place := former[2]::bigint;
		at_nth := former[3]::integer + 1;
	ELSE
		PERFORM pg_advisory_xact_lock_shared(hashtextextended('events of ' || NEW.organization_id, 0));
		SELECT ((greatest(
			(SELECT place FROM event_places WHERE organization_id = NEW.organization_id ORDER BY place DESC LIMIT 1),
			(SELECT removed_place FROM event_feeds WHERE organization_id = NEW.organization_id),
			0
		) >> 20) + 1 << 20) | (pg_current_xact_id()::text::bigint & 1048575) INTO at_place;
	END IF;
	PERFORM set_config('deskwire.event_place', concat_ws(' ', NEW.organization_id, at_place, at_nth), true);
	IF resource IS NULL THEN
		resource := substring(NEW.body::json #>> '{data,id}' from '^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$')::uuid;
		ticket := substring(NEW.body::json #>> '{data,ticket,id}' from '^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$')::uuid;
	END IF;
	INSERT INTO event_places (organization_id, place, nth, event_id, type, resource_id, ticket_id, happened_at, began_at)
	VALUES (NEW.organization_id, at_place, at_nth, NEW.id, NEW.type, resource, ticket,
		coalesce(substring(NEW.body from '"timestamp":"([^"]+)"')::timestamptz, NEW.created_at),
		CASE WHEN clock_timestamp() - transaction_timestamp() > interval '1 minute' THEN transaction_timestamp() END);
	RETURN NULL;
END $$;
--> statement-breakpoint
CREATE CONSTRAINT TRIGGER events_place AFTER INSERT ON events DEFERRABLE INITIALLY DEFERRED
	FOR EACH ROW WHEN (NEW.type <> 'test.ping') EXECUTE FUNCTION place_event();
