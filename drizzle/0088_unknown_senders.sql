-- Mail without a sender had a contact at an address of nobody. The contact goes like one that is deleted, in steps after
-- the start. One that was merged with another contact keeps the other addresses.
DO $$ BEGIN
	IF NOT EXISTS (SELECT 1 FROM contact_addresses WHERE email_key = 'unknown@sender.invalid') THEN RETURN; END IF;
	UPDATE messages m SET sender_name = 'Unknown sender', sender_email = NULL FROM contact_addresses a
	WHERE a.organization_id = m.organization_id AND a.email_key = 'unknown@sender.invalid'
		AND m.sender_email = 'unknown@sender.invalid' AND m.direction = 'inbound';
	DELETE FROM participants p USING contact_addresses a
	WHERE a.organization_id = p.organization_id AND a.email_key = 'unknown@sender.invalid' AND p.email_key = a.email_key;
	UPDATE contacts c SET email = a.email, email_key = a.email_key, updated_at = now() FROM contact_addresses a
	WHERE a.organization_id = c.organization_id AND a.contact_id = c.id AND c.email_key = 'unknown@sender.invalid'
		AND a.position = (
			SELECT min(o.position) FROM contact_addresses o
			WHERE o.organization_id = c.organization_id AND o.contact_id = c.id AND o.email_key <> c.email_key
		) AND a.email_key <> c.email_key;
	DELETE FROM contact_addresses a USING contacts c
	WHERE c.organization_id = a.organization_id AND c.id = a.contact_id AND a.email_key = 'unknown@sender.invalid'
		AND c.email_key <> a.email_key;
	UPDATE contacts SET deed_id = id WHERE email_key = 'unknown@sender.invalid' AND deed_id IS NULL;
	INSERT INTO deeds (organization_id, id, kind, subject_id, actor_type, actor_name, run_at)
	SELECT organization_id, id, 'delete contact', id, 'system', 'Deskwire', now() FROM contacts
	WHERE email_key = 'unknown@sender.invalid' AND deed_id = id;
END $$;
