-- Reviewed by hand: the trigger, the counts of what is there, and the storage settings cannot be expressed in schema.ts.
CREATE TABLE "ticket_count_changes" (
	"organization_id" uuid NOT NULL,
	"id" bigint GENERATED ALWAYS AS IDENTITY (sequence name "ticket_count_changes_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"status" text NOT NULL,
	"priority" text NOT NULL,
	"assignee_id" uuid,
	"n" integer NOT NULL,
	CONSTRAINT "ticket_count_changes_organization_id_id_pk" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "ticket_counts" (
	"organization_id" uuid NOT NULL,
	"status" text NOT NULL,
	"priority" text NOT NULL,
	"assignee_id" uuid,
	"n" integer NOT NULL,
	CONSTRAINT "ticket_counts_kind" UNIQUE NULLS NOT DISTINCT("organization_id","status","priority","assignee_id")
);
--> statement-breakpoint
ALTER TABLE "ticket_counts" ADD CONSTRAINT "ticket_counts_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "ticket_counts" SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
--> statement-breakpoint
ALTER TABLE "ticket_count_changes" SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off);
--> statement-breakpoint
CREATE FUNCTION count_ticket() RETURNS trigger LANGUAGE plpgsql AS $$
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
COMMENT ON FUNCTION count_ticket IS 'Keeps the counts of tickets exact, whoever writes tickets.';
--> statement-breakpoint
CREATE TRIGGER tickets_come_and_go AFTER INSERT OR DELETE ON tickets FOR EACH ROW EXECUTE FUNCTION count_ticket();
--> statement-breakpoint
CREATE TRIGGER tickets_change AFTER UPDATE OF status, priority, assignee_id, deleted_at ON tickets FOR EACH ROW
	WHEN ((old.status, old.priority, old.assignee_id, old.deleted_at IS NULL)
		IS DISTINCT FROM (new.status, new.priority, new.assignee_id, new.deleted_at IS NULL))
	EXECUTE FUNCTION count_ticket();
--> statement-breakpoint
INSERT INTO ticket_counts (organization_id, status, priority, assignee_id, n)
SELECT organization_id, status, priority, assignee_id, count(*) FROM tickets WHERE deleted_at IS NULL GROUP BY 1, 2, 3, 4;
