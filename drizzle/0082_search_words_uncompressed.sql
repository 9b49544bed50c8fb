-- Words with a common prefix and positions do not get shorter, and trying took a fifth of the time that the database
-- needs for a mail of 5 kB. Rows of before stay as they are.
LOCK TABLE "ticket_search" IN ACCESS EXCLUSIVE MODE;--> statement-breakpoint
DO $$ BEGIN
	ALTER TABLE "ticket_search" ALTER COLUMN "document" SET STORAGE EXTERNAL;
EXCEPTION WHEN feature_not_supported THEN
	-- Citus refuses it for a table that is distributed already.
	NULL;
END $$;
