CREATE TABLE "ticket_fact_fills" (
	"organization_id" uuid PRIMARY KEY NOT NULL,
	"before_id" uuid NOT NULL
);
--> statement-breakpoint
CREATE TABLE "ticket_facts" (
	"organization_id" uuid NOT NULL,
	"at" timestamp with time zone NOT NULL,
	"id" bigint GENERATED ALWAYS AS IDENTITY (sequence name "ticket_facts_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"ticket_id" uuid NOT NULL,
	"kind" text NOT NULL,
	"seconds" integer,
	"user_id" uuid,
	"promise_id" uuid,
	"hidden" boolean NOT NULL,
	"assignee_id" uuid,
	"team_id" uuid,
	"mailbox_id" uuid,
	"company_id" uuid,
	"priority" text NOT NULL,
	"label_ids" uuid[] DEFAULT '{}' NOT NULL,
	CONSTRAINT "ticket_facts_organization_id_at_id_pk" PRIMARY KEY("organization_id","at","id"),
	CONSTRAINT "ticket_facts_kind" CHECK ("kind" in ('created', 'began', 'replied', 'resolved', 'reopened', 'kept', 'breached', 'good', 'bad'))
) WITH (fillfactor = 90, autovacuum_vacuum_insert_scale_factor = 0.02);
--> statement-breakpoint
ALTER TABLE "ticket_fact_fills" ADD CONSTRAINT "ticket_fact_fills_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "ticket_facts_ticket" ON "ticket_facts" USING btree ("organization_id","ticket_id");
--> statement-breakpoint
CREATE FUNCTION label_facts() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
	c record;
BEGIN
	FOR c IN
		SELECT organization_id, ticket_id, array_agg(label_id ORDER BY label_id) AS labels FROM changed GROUP BY 1, 2
	LOOP
		IF TG_OP = 'INSERT' THEN
			UPDATE ticket_facts SET label_ids = label_ids || c.labels
			WHERE organization_id = c.organization_id AND ticket_id = c.ticket_id;
		ELSE
			UPDATE ticket_facts SET label_ids = ARRAY(SELECT unnest(label_ids) EXCEPT SELECT unnest(c.labels))
			WHERE organization_id = c.organization_id AND ticket_id = c.ticket_id;
		END IF;
	END LOOP;
	RETURN NULL;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION label_facts() IS 'Keeps in the facts of a ticket the labels that it has.';
--> statement-breakpoint
CREATE TRIGGER ticket_labels_facts_come AFTER INSERT ON ticket_labels REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION label_facts();
--> statement-breakpoint
CREATE TRIGGER ticket_labels_facts_go AFTER DELETE ON ticket_labels REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION label_facts();
