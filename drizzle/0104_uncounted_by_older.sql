-- Release 0.2.0 keeps no columns of messages on tickets. The job of this release counts what it has written beside it.
CREATE FUNCTION uncount_ticket() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
	IF TG_OP <> 'INSERT' THEN
		UPDATE tickets SET message_count = NULL
		WHERE organization_id = old.organization_id AND id = old.ticket_id AND message_count IS NOT NULL
			AND deleted_at IS NULL;
	END IF;
	IF TG_OP <> 'DELETE' THEN
		UPDATE tickets SET message_count = NULL
		WHERE organization_id = new.organization_id AND id = new.ticket_id AND message_count IS NOT NULL
			AND deleted_at IS NULL;
	END IF;
	RETURN NULL;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION uncount_ticket() IS 'Lets the messages of a ticket be counted anew.';
--> statement-breakpoint
-- Only release 0.2.0 writes messages without a format.
CREATE TRIGGER messages_of_older_releases AFTER INSERT ON messages FOR EACH ROW WHEN (new.format IS NULL) EXECUTE FUNCTION uncount_ticket();
--> statement-breakpoint
CREATE TRIGGER messages_move AFTER UPDATE OF ticket_id ON messages FOR EACH ROW WHEN (old.ticket_id IS DISTINCT FROM new.ticket_id) EXECUTE FUNCTION uncount_ticket();
--> statement-breakpoint
CREATE TRIGGER messages_go AFTER DELETE ON messages FOR EACH ROW EXECUTE FUNCTION uncount_ticket();
