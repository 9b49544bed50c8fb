-- Safe beside older processes: they write no other kinds, and look for none.
ALTER TABLE "outbox" DROP CONSTRAINT "outbox_kind";--> statement-breakpoint
ALTER TABLE "outbox" ADD CONSTRAINT "outbox_kind" CHECK ("kind" in ('webhook', 'email', 'inbound', 'letter', 'wake'));