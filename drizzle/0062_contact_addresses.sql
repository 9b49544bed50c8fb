-- Completed by hand: the triggers that keep primary addresses in contact_addresses, and the addresses that there are.
CREATE TABLE "contact_addresses" (
	"organization_id" uuid NOT NULL,
	"email_key" text NOT NULL,
	"contact_id" uuid NOT NULL,
	"email" text NOT NULL,
	"position" integer DEFAULT 0 NOT NULL,
	CONSTRAINT "contact_addresses_organization_id_email_key_pk" PRIMARY KEY("organization_id","email_key")
);
--> statement-breakpoint
CREATE TABLE "merged_contacts" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"contact_id" uuid NOT NULL,
	"external_id" text,
	CONSTRAINT "merged_contacts_organization_id_id_pk" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE FUNCTION refuse_taken_address() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM FROM contact_addresses WHERE organization_id = new.organization_id AND email_key = new.email_key;
	IF FOUND THEN RETURN NULL; END IF;
	RETURN new;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION refuse_taken_address IS 'Leaves out a new contact whose address another one has, as "on conflict do nothing" does for a primary address.';
--> statement-breakpoint
CREATE TRIGGER contacts_address_taken BEFORE INSERT ON contacts FOR EACH ROW EXECUTE FUNCTION refuse_taken_address();
--> statement-breakpoint
CREATE FUNCTION keep_primary_address() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP = 'UPDATE' THEN
		-- Another address of the contact may become the primary one: then both stay.
		UPDATE contact_addresses SET email = new.email
		WHERE organization_id = new.organization_id AND email_key = new.email_key AND contact_id = new.id;
		IF FOUND THEN RETURN NULL; END IF;
		DELETE FROM contact_addresses
		WHERE organization_id = new.organization_id AND email_key = old.email_key AND contact_id = new.id;
	END IF;
	INSERT INTO contact_addresses (organization_id, email_key, contact_id, email)
	VALUES (new.organization_id, new.email_key, new.id, new.email) ON CONFLICT DO NOTHING;
	IF NOT FOUND THEN
		RAISE unique_violation USING CONSTRAINT = 'contacts_email',
			MESSAGE = 'duplicate key value violates unique constraint "contacts_email"';
	END IF;
	RETURN NULL;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION keep_primary_address IS 'Keeps the primary addresses in contact_addresses as contacts has them, whichever release writes.';
--> statement-breakpoint
CREATE TRIGGER contacts_primary_address_made AFTER INSERT ON contacts FOR EACH ROW EXECUTE FUNCTION keep_primary_address();
--> statement-breakpoint
CREATE TRIGGER contacts_primary_address_changed AFTER UPDATE OF email, email_key ON contacts FOR EACH ROW
	WHEN (old.email_key <> new.email_key OR old.email <> new.email) EXECUTE FUNCTION keep_primary_address();
--> statement-breakpoint
INSERT INTO contact_addresses (organization_id, email_key, contact_id, email)
	SELECT organization_id, email_key, id, email FROM contacts;--> statement-breakpoint
ALTER TABLE "contact_addresses" ADD CONSTRAINT "contact_addresses_contact_fk" FOREIGN KEY ("organization_id","contact_id") REFERENCES "public"."contacts"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "merged_contacts" ADD CONSTRAINT "merged_contacts_contact_fk" FOREIGN KEY ("organization_id","contact_id") REFERENCES "public"."contacts"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "contact_addresses_contact" ON "contact_addresses" USING btree ("organization_id","contact_id");--> statement-breakpoint
CREATE INDEX "merged_contacts_contact" ON "merged_contacts" USING btree ("organization_id","contact_id");--> statement-breakpoint
CREATE UNIQUE INDEX "merged_contacts_external_id" ON "merged_contacts" USING btree ("organization_id","external_id") WHERE "merged_contacts"."external_id" is not null;
