-- Completed by hand: included columns, triggers, storage settings, the sums of what is there, and the mark of what is to be filled.
CREATE TABLE "fills" (
	"organization_id" uuid NOT NULL,
	"kind" text NOT NULL,
	"after_id" uuid,
	CONSTRAINT "fills_organization_id_kind_pk" PRIMARY KEY("organization_id","kind"),
	CONSTRAINT "fills_kind" CHECK ("fills"."kind" in ('time_entries.company_id'))
);
--> statement-breakpoint
CREATE TABLE "time_total_changes" (
	"organization_id" uuid NOT NULL,
	"id" bigint GENERATED ALWAYS AS IDENTITY (sequence name "time_total_changes_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"date" date NOT NULL,
	"currency" text NOT NULL,
	"billable" boolean NOT NULL,
	"entries" integer NOT NULL,
	"minutes" bigint NOT NULL,
	"priced" integer NOT NULL,
	"amount" numeric(20, 2) NOT NULL,
	CONSTRAINT "time_total_changes_organization_id_id_pk" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "time_totals" (
	"organization_id" uuid NOT NULL,
	"date" date NOT NULL,
	"currency" text NOT NULL,
	"billable" boolean NOT NULL,
	"entries" integer NOT NULL,
	"minutes" bigint NOT NULL,
	"priced" integer NOT NULL,
	"amount" numeric(20, 2) NOT NULL,
	CONSTRAINT "time_totals_organization_id_date_currency_billable_pk" PRIMARY KEY("organization_id","date","currency","billable")
);
--> statement-breakpoint
ALTER TABLE "fills" ADD CONSTRAINT "fills_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "time_totals" ADD CONSTRAINT "time_totals_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "time_totals" SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
--> statement-breakpoint
ALTER TABLE "time_total_changes" SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off);
--> statement-breakpoint
-- One lock after the other, in the order in which requests take them. They are held until the migration ends.
LOCK TABLE "tickets", "contacts" IN SHARE ROW EXCLUSIVE MODE;
--> statement-breakpoint
-- An index entry holds 2,700 bytes; only names of hundreds of ligatures are longer when folded.
UPDATE "contacts" SET "search" = left("search", 600) WHERE octet_length("search") > 2400;
--> statement-breakpoint
CREATE INDEX "contacts_list" ON "contacts" USING btree ("organization_id","id") INCLUDE ("search");
--> statement-breakpoint
ALTER TABLE "time_entries" ADD COLUMN "company_id" uuid;
--> statement-breakpoint
DROP INDEX "time_entries_date";
--> statement-breakpoint
DROP INDEX "time_entries_user";
--> statement-breakpoint
CREATE INDEX "time_entries_date" ON "time_entries" USING btree ("organization_id","date","id")
	INCLUDE ("company_id","user_id","duration_minutes","billable","amount","currency");
--> statement-breakpoint
CREATE INDEX "time_entries_company" ON "time_entries" USING btree ("organization_id","company_id","date","id")
	INCLUDE ("duration_minutes","billable","amount","currency");
--> statement-breakpoint
CREATE INDEX "time_entries_user" ON "time_entries" USING btree ("organization_id","user_id","date","id")
	INCLUDE ("duration_minutes","billable","amount","currency");
--> statement-breakpoint
CREATE FUNCTION set_time_entry_company() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	new.company_id := (
		SELECT company_id FROM tickets WHERE organization_id = new.organization_id AND id = new.ticket_id FOR SHARE
	);
	RETURN new;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION set_time_entry_company IS 'Gives a new time entry the company of its ticket, which cannot change until the transaction ends.';
--> statement-breakpoint
CREATE TRIGGER time_entries_company BEFORE INSERT ON time_entries FOR EACH ROW EXECUTE FUNCTION set_time_entry_company();
--> statement-breakpoint
CREATE FUNCTION pass_company_to_time() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	UPDATE time_entries SET company_id = new.company_id
	WHERE organization_id = new.organization_id AND ticket_id = new.id AND company_id IS DISTINCT FROM new.company_id;
	RETURN NULL;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION pass_company_to_time IS 'Gives the time entries of a ticket its new company.';
--> statement-breakpoint
CREATE TRIGGER tickets_company_of_time AFTER UPDATE OF company_id ON tickets FOR EACH ROW
	WHEN (old.company_id IS DISTINCT FROM new.company_id) EXECUTE FUNCTION pass_company_to_time();
--> statement-breakpoint
CREATE FUNCTION sum_up_time() RETURNS trigger LANGUAGE plpgsql AS $$
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
COMMENT ON FUNCTION sum_up_time IS 'Keeps the sums of time entries exact, whoever writes entries.';
--> statement-breakpoint
CREATE TRIGGER time_entries_come_and_go AFTER INSERT OR DELETE ON time_entries FOR EACH ROW EXECUTE FUNCTION sum_up_time();
--> statement-breakpoint
CREATE TRIGGER time_entries_change AFTER UPDATE OF date, currency, billable, duration_minutes, rate ON time_entries FOR EACH ROW
	WHEN ((old.date, old.currency, old.billable, old.duration_minutes, old.rate)
		IS DISTINCT FROM (new.date, new.currency, new.billable, new.duration_minutes, new.rate))
	EXECUTE FUNCTION sum_up_time();
--> statement-breakpoint
INSERT INTO time_totals (organization_id, date, currency, billable, entries, minutes, priced, amount)
SELECT organization_id, date, currency, billable, count(*), sum(duration_minutes), count(amount), coalesce(sum(amount), 0)
FROM time_entries GROUP BY 1, 2, 3, 4;
--> statement-breakpoint
INSERT INTO fills (organization_id, kind) SELECT DISTINCT organization_id, 'time_entries.company_id' FROM time_entries;
