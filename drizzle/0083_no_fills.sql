DO $$ BEGIN
	IF EXISTS (SELECT FROM fills) THEN
		RAISE 'rows of older releases are still being filled: start release 0.2.0 again until its command doctor counts 0 as fills_left';
	END IF;
END $$;
