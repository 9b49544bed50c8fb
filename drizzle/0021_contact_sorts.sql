-- Completed by hand: the texts that an index cannot hold, and the included column.
LOCK TABLE "contacts" IN SHARE ROW EXCLUSIVE MODE;
--> statement-breakpoint
-- An index entry holds 2,700 bytes; only names of hundreds of ligatures are longer when folded.
UPDATE "contacts" SET "search" = left("search", 600) WHERE octet_length("search") > 2400;
--> statement-breakpoint
-- Safe beside older processes: writes of contacts wait, 3 to 5 s for a million (PostgreSQL 15, two busy cores).
CREATE INDEX "contacts_list" ON "contacts" USING btree ("organization_id","id") INCLUDE ("search");
--> statement-breakpoint
-- Safe beside older processes: writes of contacts wait, 3 to 5 s for a million (PostgreSQL 15, two busy cores).
CREATE INDEX "contacts_updated" ON "contacts" USING btree ("organization_id","updated_at","id");
--> statement-breakpoint
-- Safe beside older processes: writes of contacts wait, 3 to 5 s for a million (PostgreSQL 15, two busy cores).
CREATE INDEX "contacts_name" ON "contacts" USING btree ("organization_id",lower("name"),"id");
