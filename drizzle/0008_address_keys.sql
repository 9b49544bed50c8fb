-- Completed by hand: the keys of the addresses that are stored. A generated column is computed while its table is rewritten once,
-- and then becomes a plain one, which the service fills. Only A to Z are folded: `lower` folds other letters to them. The domains
-- that are not ASCII become Punycode after the migrations (db/address-keys.ts), as long as the table below exists.
DROP INDEX "contacts_email";--> statement-breakpoint
DROP INDEX "mailboxes_address";--> statement-breakpoint
DROP INDEX "participants_email";--> statement-breakpoint
DROP INDEX "users_email";--> statement-breakpoint
ALTER TABLE "contacts" ADD COLUMN "email_key" text NOT NULL GENERATED ALWAYS AS
	(translate("email", 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz')) STORED;--> statement-breakpoint
ALTER TABLE "contacts" ALTER COLUMN "email_key" DROP EXPRESSION;--> statement-breakpoint
ALTER TABLE "mailboxes" ADD COLUMN "address_key" text NOT NULL GENERATED ALWAYS AS
	(translate("address", 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz')) STORED;--> statement-breakpoint
ALTER TABLE "mailboxes" ALTER COLUMN "address_key" DROP EXPRESSION;--> statement-breakpoint
ALTER TABLE "message_recipients" ADD COLUMN "email_key" text NOT NULL GENERATED ALWAYS AS
	(translate("email", 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz')) STORED;--> statement-breakpoint
ALTER TABLE "message_recipients" ALTER COLUMN "email_key" DROP EXPRESSION;--> statement-breakpoint
ALTER TABLE "participants" ADD COLUMN "email_key" text NOT NULL GENERATED ALWAYS AS
	(translate("email", 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz')) STORED;--> statement-breakpoint
ALTER TABLE "participants" ALTER COLUMN "email_key" DROP EXPRESSION;--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "email_key" text NOT NULL GENERATED ALWAYS AS
	(translate("email", 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz')) STORED;--> statement-breakpoint
ALTER TABLE "users" ALTER COLUMN "email_key" DROP EXPRESSION;--> statement-breakpoint
CREATE UNIQUE INDEX "contacts_email" ON "contacts" USING btree ("organization_id","email_key");--> statement-breakpoint
CREATE UNIQUE INDEX "mailboxes_address" ON "mailboxes" USING btree ("address_key");--> statement-breakpoint
CREATE UNIQUE INDEX "participants_email" ON "participants" USING btree ("organization_id","ticket_id","email_key");--> statement-breakpoint
CREATE UNIQUE INDEX "users_email" ON "users" USING btree ("email_key");--> statement-breakpoint
CREATE TABLE "address_keys_unfinished" ();
