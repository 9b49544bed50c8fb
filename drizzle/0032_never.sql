CREATE FUNCTION never() RETURNS boolean LANGUAGE plpgsql STABLE PARALLEL SAFE COST 1 AS $$ BEGIN RETURN false; END $$;
--> statement-breakpoint
COMMENT ON FUNCTION never IS 'False. The planner knows it on a cluster alone (src/db/cluster/route-searches.ts): a search is sent to one node then, and read by the index of words elsewhere.';
