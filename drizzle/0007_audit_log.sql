CREATE TABLE "audit_log" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"actor_type" text NOT NULL,
	"actor_id" uuid,
	"actor_name" text,
	"action" text NOT NULL,
	"resource_type" text,
	"resource_id" uuid,
	"changes" jsonb,
	"ip" text,
	"user_agent" text,
	"request_id" text,
	"created_at" timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
	CONSTRAINT "audit_log_organization_id_id_pk" PRIMARY KEY("organization_id","id"),
	CONSTRAINT "audit_log_actor_type" CHECK ("audit_log"."actor_type" in ('user', 'api_key', 'operator', 'system')),
	CONSTRAINT "audit_log_resource" CHECK (num_nulls("audit_log"."resource_type", "audit_log"."resource_id") in (0, 2))
);
--> statement-breakpoint
CREATE INDEX "audit_log_actor" ON "audit_log" USING btree ("organization_id","actor_id","id");--> statement-breakpoint
CREATE INDEX "audit_log_action" ON "audit_log" USING btree ("organization_id","action","id");--> statement-breakpoint
CREATE INDEX "audit_log_resource" ON "audit_log" USING btree ("organization_id","resource_id","id");--> statement-breakpoint
CREATE INDEX "audit_log_age" ON "audit_log" USING btree ("created_at");--> statement-breakpoint
-- Who removes old entries, or erases a person from them, says so: set local deskwire.audit_log = 'retention' or 'erasure'.
CREATE FUNCTION protect_audit_log() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	reason text := coalesce(current_setting('deskwire.audit_log', true), '');
BEGIN
	IF TG_OP = 'DELETE' AND reason = 'retention' OR TG_OP IN ('UPDATE', 'DELETE') AND reason = 'erasure' THEN
		RETURN NULL;
	END IF;
	RAISE EXCEPTION 'audit_log is append-only' USING ERRCODE = 'insufficient_privilege';
END $$;
--> statement-breakpoint
CREATE TRIGGER audit_log_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_log
	FOR EACH STATEMENT EXECUTE FUNCTION protect_audit_log();
