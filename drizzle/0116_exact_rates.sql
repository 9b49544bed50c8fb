ALTER TABLE "time_entries" ADD COLUMN "exact_rate" numeric;
--> statement-breakpoint
ALTER TABLE "time_entries" ADD COLUMN "decimals" smallint;
--> statement-breakpoint
ALTER TABLE "time_entries" ADD CONSTRAINT "time_entries_exact_rate" CHECK ("exact_rate" between 0 and 1000000);
--> statement-breakpoint
CREATE OR REPLACE FUNCTION sum_up_time() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
	exact numeric;
BEGIN
	IF TG_OP <> 'INSERT' THEN
		exact := coalesce(round(old.duration_minutes * old.exact_rate / 60, old.decimals), old.amount);
		INSERT INTO time_total_changes (organization_id, date, currency, billable, entries, minutes, priced, amount)
		VALUES (old.organization_id, old.date, old.currency, old.billable,
			-1, -old.duration_minutes, -num_nonnulls(exact), -coalesce(exact, 0));
	END IF;
	IF TG_OP <> 'DELETE' THEN
		exact := coalesce(round(new.duration_minutes * new.exact_rate / 60, new.decimals), new.amount);
		INSERT INTO time_total_changes (organization_id, date, currency, billable, entries, minutes, priced, amount)
		VALUES (new.organization_id, new.date, new.currency, new.billable,
			1, new.duration_minutes, num_nonnulls(exact), coalesce(exact, 0));
	END IF;
	RETURN NULL;
END $$;
--> statement-breakpoint
DROP TRIGGER time_entries_change ON time_entries;
--> statement-breakpoint
CREATE TRIGGER time_entries_change AFTER UPDATE OF date, currency, billable, duration_minutes, rate, exact_rate, decimals ON time_entries FOR EACH ROW WHEN (old.date IS DISTINCT FROM new.date OR old.currency IS DISTINCT FROM new.currency OR old.billable IS DISTINCT FROM new.billable OR old.duration_minutes IS DISTINCT FROM new.duration_minutes OR old.rate IS DISTINCT FROM new.rate OR old.exact_rate IS DISTINCT FROM new.exact_rate OR old.decimals IS DISTINCT FROM new.decimals) EXECUTE FUNCTION sum_up_time();
--> statement-breakpoint
-- Release 0.2.0 knows rates of two decimals alone: one that it changes is such a rate.
CREATE FUNCTION forget_exact_rate() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
	new.exact_rate := NULL;
	new.decimals := NULL;
	RETURN new;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION forget_exact_rate() IS 'Lets the rate of an entry have two decimals.';
--> statement-breakpoint
CREATE TRIGGER time_entries_of_older_releases BEFORE UPDATE OF rate ON time_entries FOR EACH ROW WHEN (old.rate IS DISTINCT FROM new.rate AND old.exact_rate IS NOT DISTINCT FROM new.exact_rate) EXECUTE FUNCTION forget_exact_rate();
