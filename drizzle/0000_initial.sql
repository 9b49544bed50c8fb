-- Reviewed by hand: the functions and extensions below, `on delete set null (column)` and the storage settings at the end
-- cannot be expressed in schema.ts.
CREATE EXTENSION IF NOT EXISTS btree_gin;
--> statement-breakpoint
CREATE EXTENSION IF NOT EXISTS pg_trgm;
--> statement-breakpoint
CREATE FUNCTION uuid_time(id uuid) RETURNS timestamptz LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	AS $$ SELECT to_timestamp(('x' || translate(left(id::text, 13), '-', ''))::bit(48)::bigint / 1000.0) $$;
--> statement-breakpoint
COMMENT ON FUNCTION uuid_time IS 'The time in a UUIDv7 (RFC 9562), in milliseconds.';
--> statement-breakpoint
CREATE FUNCTION ticket_rank(priority text) RETURNS integer LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	AS $$ SELECT array_position(ARRAY['low', 'normal', 'high', 'urgent'], priority) $$;
--> statement-breakpoint
CREATE TABLE "activities" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"ticket_id" uuid NOT NULL,
	"type" text NOT NULL,
	"actor_type" text NOT NULL,
	"actor_id" uuid,
	"actor_name" text,
	"data" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"created_at" timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
	CONSTRAINT "activities_organization_id_id_pk" PRIMARY KEY("organization_id","id"),
	CONSTRAINT "activities_actor_type" CHECK ("activities"."actor_type" in ('user', 'contact', 'system'))
);
--> statement-breakpoint
CREATE TABLE "attachments" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"message_id" uuid,
	"filename" text NOT NULL,
	"content_type" text NOT NULL,
	"size" bigint NOT NULL,
	"digest" text NOT NULL,
	"storage_key" text NOT NULL,
	"content_id" text,
	"created_at" timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
	CONSTRAINT "attachments_organization_id_id_pk" PRIMARY KEY("organization_id","id"),
	CONSTRAINT "attachments_size" CHECK ("attachments"."size" >= 0)
);
--> statement-breakpoint
CREATE TABLE "companies" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"name" text NOT NULL,
	"domains" text[] DEFAULT '{}' NOT NULL,
	"hourly_rate" numeric(9, 2),
	"currency" text,
	"ticket_prefix" text,
	"notes" text,
	"created_at" timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "companies_organization_id_id_pk" PRIMARY KEY("organization_id","id"),
	CONSTRAINT "companies_hourly_rate" CHECK ("companies"."hourly_rate" between 0 and 1000000),
	CONSTRAINT "companies_currency" CHECK ("companies"."currency" ~ '^[A-Z]{3}$'),
	CONSTRAINT "companies_ticket_prefix" CHECK ("companies"."ticket_prefix" ~ '^[A-Z][A-Z0-9]{0,9}$'),
	CONSTRAINT "companies_domains_count" CHECK (cardinality("companies"."domains") <= 20)
);
--> statement-breakpoint
CREATE TABLE "contacts" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"name" text NOT NULL,
	"email" text NOT NULL,
	"phone" text,
	"company_id" uuid,
	"notes" text,
	"search" text NOT NULL,
	"created_at" timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "contacts_organization_id_id_pk" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "deliveries" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"webhook_id" uuid NOT NULL,
	"event_id" uuid NOT NULL,
	"event" text NOT NULL,
	"status" text DEFAULT 'pending' NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"response_code" integer,
	"response_time_ms" integer,
	"error" text,
	"next_attempt_at" timestamp with time zone,
	"created_at" timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
	CONSTRAINT "deliveries_organization_id_id_pk" PRIMARY KEY("organization_id","id"),
	CONSTRAINT "deliveries_status" CHECK ("deliveries"."status" in ('pending', 'retrying', 'success', 'failed', 'cancelled')),
	CONSTRAINT "deliveries_attempts" CHECK ("deliveries"."attempts" >= 0)
);
--> statement-breakpoint
CREATE TABLE "delivery_attempts" (
	"organization_id" uuid NOT NULL,
	"delivery_id" uuid NOT NULL,
	"attempt" integer NOT NULL,
	"started_at" timestamp with time zone NOT NULL,
	"response_code" integer,
	"response_time_ms" integer NOT NULL,
	"error" text,
	"response_head" text,
	CONSTRAINT "delivery_attempts_organization_id_delivery_id_attempt_pk" PRIMARY KEY("organization_id","delivery_id","attempt"),
	CONSTRAINT "delivery_attempts_attempt" CHECK ("delivery_attempts"."attempt" > 0)
);
--> statement-breakpoint
CREATE TABLE "email_anchors" (
	"organization_id" uuid NOT NULL,
	"email_message_id" text NOT NULL,
	"ticket_id" uuid NOT NULL,
	"message_id" uuid,
	CONSTRAINT "email_anchors_organization_id_email_message_id_ticket_id_pk" PRIMARY KEY("organization_id","email_message_id","ticket_id")
);
--> statement-breakpoint
CREATE TABLE "events" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"type" text NOT NULL,
	"body" text NOT NULL,
	"created_at" timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
	CONSTRAINT "events_organization_id_id_pk" PRIMARY KEY("organization_id","id"),
	CONSTRAINT "events_type" CHECK ("events"."type" in ('ticket.created', 'ticket.updated', 'ticket.deleted', 'ticket.assigned', 'ticket.status_changed', 'message.created', 'message.deleted', 'contact.created', 'contact.updated', 'contact.deleted', 'time_entry.created', 'time_entry.updated', 'time_entry.deleted', 'test.ping'))
);
--> statement-breakpoint
CREATE TABLE "inbound_fingerprints" (
	"organization_id" uuid NOT NULL,
	"fingerprint" text NOT NULL,
	"inbound_message_id" uuid NOT NULL,
	CONSTRAINT "inbound_fingerprints_organization_id_fingerprint_pk" PRIMARY KEY("organization_id","fingerprint")
);
--> statement-breakpoint
CREATE TABLE "inbound_messages" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"mailbox_id" uuid,
	"mailbox_address" text NOT NULL,
	"recipient" text NOT NULL,
	"envelope_sender" text NOT NULL,
	"email_message_id" text,
	"from_name" text,
	"from_email" text,
	"subject" text,
	"size" bigint NOT NULL,
	"outcome" text DEFAULT 'pending' NOT NULL,
	"rule" text,
	"ticket_id" uuid,
	"message_id" uuid,
	"storage_key" text,
	"received_at" timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
	CONSTRAINT "inbound_messages_organization_id_id_pk" PRIMARY KEY("organization_id","id"),
	CONSTRAINT "inbound_messages_outcome" CHECK ("inbound_messages"."outcome" in ('pending', 'ticket', 'message', 'bounce', 'duplicate', 'own', 'unmatched_bounce', 'unparsed')),
	CONSTRAINT "inbound_messages_rule" CHECK ("inbound_messages"."rule" in ('in_reply_to', 'references', 'reply_tag', 'subject_code', 'new'))
);
--> statement-breakpoint
CREATE TABLE "labels" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"name" text NOT NULL,
	"color" text NOT NULL,
	"description" text,
	"created_at" timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "labels_organization_id_id_pk" PRIMARY KEY("organization_id","id"),
	CONSTRAINT "labels_color" CHECK ("labels"."color" ~ '^#[0-9A-Fa-f]{6}$')
);
--> statement-breakpoint
CREATE TABLE "mailboxes" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"address" text NOT NULL,
	"name" text,
	"active" boolean DEFAULT true NOT NULL,
	"is_default" boolean DEFAULT false NOT NULL,
	"plus_addressing" boolean DEFAULT true NOT NULL,
	"smtp_host" text,
	"smtp_port" integer,
	"smtp_security" text,
	"smtp_username" text,
	"smtp_password" text,
	"created_at" timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "mailboxes_organization_id_id_pk" PRIMARY KEY("organization_id","id"),
	CONSTRAINT "mailboxes_smtp_security" CHECK ("mailboxes"."smtp_security" in ('none', 'starttls', 'tls')),
	CONSTRAINT "mailboxes_smtp_port" CHECK ("mailboxes"."smtp_port" between 1 and 65535),
	CONSTRAINT "mailboxes_smtp_complete" CHECK (num_nulls("mailboxes"."smtp_host", "mailboxes"."smtp_port", "mailboxes"."smtp_security") in (0, 3))
);
--> statement-breakpoint
CREATE TABLE "memberships" (
	"organization_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"role" text DEFAULT 'agent' NOT NULL,
	"active" boolean DEFAULT true NOT NULL,
	"hourly_rate" numeric(9, 2),
	"currency" text,
	"created_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	"removed_at" timestamp with time zone,
	CONSTRAINT "memberships_organization_id_user_id_pk" PRIMARY KEY("organization_id","user_id"),
	CONSTRAINT "memberships_role" CHECK ("memberships"."role" in ('admin', 'agent')),
	CONSTRAINT "memberships_hourly_rate" CHECK ("memberships"."hourly_rate" between 0 and 1000000),
	CONSTRAINT "memberships_currency" CHECK ("memberships"."currency" ~ '^[A-Z]{3}$')
);
--> statement-breakpoint
CREATE TABLE "message_recipients" (
	"organization_id" uuid NOT NULL,
	"message_id" uuid NOT NULL,
	"position" integer NOT NULL,
	"kind" text NOT NULL,
	"name" text,
	"email" text NOT NULL,
	"status" text DEFAULT 'queued' NOT NULL,
	"error" text,
	CONSTRAINT "message_recipients_organization_id_message_id_position_pk" PRIMARY KEY("organization_id","message_id","position"),
	CONSTRAINT "message_recipients_kind" CHECK ("message_recipients"."kind" in ('to', 'cc')),
	CONSTRAINT "message_recipients_status" CHECK ("message_recipients"."status" in ('queued', 'sent', 'failed', 'bounced'))
);
--> statement-breakpoint
CREATE TABLE "messages" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"ticket_id" uuid NOT NULL,
	"body" text NOT NULL,
	"body_html" text NOT NULL,
	"reply_text" text,
	"is_internal" boolean DEFAULT false NOT NULL,
	"direction" text,
	"sender_name" text NOT NULL,
	"sender_email" text,
	"auto_reply" boolean DEFAULT false NOT NULL,
	"cc" text[] DEFAULT '{}' NOT NULL,
	"email_message_id" text,
	"email_status" text DEFAULT 'none' NOT NULL,
	"email_error" text,
	"created_at" timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
	CONSTRAINT "messages_organization_id_id_pk" PRIMARY KEY("organization_id","id"),
	CONSTRAINT "messages_direction" CHECK ("messages"."direction" in ('inbound', 'outbound')),
	CONSTRAINT "messages_note" CHECK ("messages"."is_internal" = ("messages"."direction" is null)),
	CONSTRAINT "messages_email_status" CHECK ("messages"."email_status" in ('none', 'queued', 'sent', 'failed', 'bounced'))
);
--> statement-breakpoint
CREATE TABLE "organizations" (
	"id" uuid PRIMARY KEY NOT NULL,
	"number" integer GENERATED ALWAYS AS IDENTITY (sequence name "organizations_number_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"name" text NOT NULL,
	"ticket_prefix" text DEFAULT 'TKT' NOT NULL,
	"hourly_rate" numeric(9, 2),
	"currency" text DEFAULT 'USD' NOT NULL,
	"reopen_on_reply" boolean DEFAULT true NOT NULL,
	"created_at" timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "organizations_ticket_prefix" CHECK ("organizations"."ticket_prefix" ~ '^[A-Z][A-Z0-9]{0,9}$'),
	CONSTRAINT "organizations_hourly_rate" CHECK ("organizations"."hourly_rate" between 0 and 1000000),
	CONSTRAINT "organizations_currency" CHECK ("organizations"."currency" ~ '^[A-Z]{3}$')
);
--> statement-breakpoint
CREATE TABLE "outbox" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"kind" text NOT NULL,
	"lane_id" uuid NOT NULL,
	"run_at" timestamp with time zone DEFAULT now() NOT NULL,
	"lease_until" timestamp with time zone DEFAULT '-infinity' NOT NULL,
	"lease_token" uuid,
	"attempts" integer DEFAULT 0 NOT NULL,
	"claims" integer DEFAULT 0 NOT NULL,
	CONSTRAINT "outbox_organization_id_id_pk" PRIMARY KEY("organization_id","id"),
	CONSTRAINT "outbox_kind" CHECK ("outbox"."kind" in ('webhook', 'email', 'inbound')),
	CONSTRAINT "outbox_counts" CHECK ("outbox"."attempts" >= 0 and "outbox"."claims" >= 0)
);
--> statement-breakpoint
CREATE TABLE "participants" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"ticket_id" uuid NOT NULL,
	"name" text,
	"email" text NOT NULL,
	"contact_id" uuid,
	"confirmed" boolean DEFAULT true NOT NULL,
	"created_at" timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
	CONSTRAINT "participants_organization_id_id_pk" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "refresh_tokens" (
	"token_hash" "bytea" PRIMARY KEY NOT NULL,
	"user_id" uuid NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "storage_removals" (
	"storage_key" text PRIMARY KEY NOT NULL,
	"due_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "ticket_counters" (
	"organization_id" uuid PRIMARY KEY NOT NULL,
	"next_number" integer DEFAULT 1 NOT NULL
);
--> statement-breakpoint
CREATE TABLE "ticket_labels" (
	"organization_id" uuid NOT NULL,
	"ticket_id" uuid NOT NULL,
	"label_id" uuid NOT NULL,
	CONSTRAINT "ticket_labels_organization_id_ticket_id_label_id_pk" PRIMARY KEY("organization_id","ticket_id","label_id")
);
--> statement-breakpoint
CREATE TABLE "ticket_search" (
	"organization_id" uuid NOT NULL,
	"ticket_id" uuid NOT NULL,
	"document" "tsvector" NOT NULL,
	"size" integer NOT NULL,
	CONSTRAINT "ticket_search_organization_id_ticket_id_pk" PRIMARY KEY("organization_id","ticket_id")
);
--> statement-breakpoint
CREATE TABLE "tickets" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"number" integer NOT NULL,
	"code" text NOT NULL,
	"subject" text NOT NULL,
	"status" text DEFAULT 'open' NOT NULL,
	"priority" text DEFAULT 'normal' NOT NULL,
	"contact_id" uuid,
	"company_id" uuid,
	"assignee_id" uuid,
	"mailbox_id" uuid,
	"created_at" timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	"deleted_at" timestamp with time zone,
	"purged_at" timestamp with time zone,
	CONSTRAINT "tickets_organization_id_id_pk" PRIMARY KEY("organization_id","id"),
	CONSTRAINT "tickets_number" UNIQUE("organization_id","number"),
	CONSTRAINT "tickets_status" CHECK ("tickets"."status" in ('open', 'pending', 'resolved', 'closed')),
	CONSTRAINT "tickets_priority" CHECK ("tickets"."priority" in ('low', 'normal', 'high', 'urgent')),
	CONSTRAINT "tickets_number_positive" CHECK ("tickets"."number" > 0)
);
--> statement-breakpoint
CREATE TABLE "time_entries" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"ticket_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"duration_minutes" integer NOT NULL,
	"description" text,
	"billable" boolean DEFAULT true NOT NULL,
	"rate" numeric(9, 2),
	"currency" text NOT NULL,
	"amount" numeric(14, 2) GENERATED ALWAYS AS (round(duration_minutes * rate / 60, 2)) STORED,
	"date" date NOT NULL,
	"created_at" timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "time_entries_organization_id_id_pk" PRIMARY KEY("organization_id","id"),
	CONSTRAINT "time_entries_duration" CHECK ("time_entries"."duration_minutes" between 1 and 525600),
	CONSTRAINT "time_entries_rate" CHECK ("time_entries"."rate" between 0 and 1000000),
	CONSTRAINT "time_entries_currency" CHECK ("time_entries"."currency" ~ '^[A-Z]{3}$')
);
--> statement-breakpoint
CREATE TABLE "users" (
	"id" uuid PRIMARY KEY NOT NULL,
	"email" text NOT NULL,
	"name" text NOT NULL,
	"password_hash" text NOT NULL,
	"created_at" timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "webhooks" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"url" text NOT NULL,
	"events" text[] NOT NULL,
	"secret" text,
	"active" boolean DEFAULT true NOT NULL,
	"status" text DEFAULT 'active' NOT NULL,
	"failure_count" integer DEFAULT 0 NOT NULL,
	"created_at" timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	"deleted_at" timestamp with time zone,
	CONSTRAINT "webhooks_organization_id_id_pk" PRIMARY KEY("organization_id","id"),
	CONSTRAINT "webhooks_status" CHECK ("webhooks"."status" in ('active', 'failed')),
	CONSTRAINT "webhooks_events" CHECK (cardinality("webhooks"."events") > 0),
	CONSTRAINT "webhooks_failure_count" CHECK ("webhooks"."failure_count" >= 0)
);
--> statement-breakpoint
ALTER TABLE "activities" ADD CONSTRAINT "activities_ticket_fk" FOREIGN KEY ("organization_id","ticket_id") REFERENCES "public"."tickets"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "attachments" ADD CONSTRAINT "attachments_message_fk" FOREIGN KEY ("organization_id","message_id") REFERENCES "public"."messages"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "companies" ADD CONSTRAINT "companies_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "contacts" ADD CONSTRAINT "contacts_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "contacts" ADD CONSTRAINT "contacts_company_fk" FOREIGN KEY ("organization_id","company_id") REFERENCES "public"."companies"("organization_id","id") ON DELETE set null ("company_id") ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "deliveries" ADD CONSTRAINT "deliveries_webhook_fk" FOREIGN KEY ("organization_id","webhook_id") REFERENCES "public"."webhooks"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "deliveries" ADD CONSTRAINT "deliveries_event_fk" FOREIGN KEY ("organization_id","event_id") REFERENCES "public"."events"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "delivery_attempts" ADD CONSTRAINT "delivery_attempts_delivery_fk" FOREIGN KEY ("organization_id","delivery_id") REFERENCES "public"."deliveries"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "email_anchors" ADD CONSTRAINT "email_anchors_ticket_fk" FOREIGN KEY ("organization_id","ticket_id") REFERENCES "public"."tickets"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "email_anchors" ADD CONSTRAINT "email_anchors_message_fk" FOREIGN KEY ("organization_id","message_id") REFERENCES "public"."messages"("organization_id","id") ON DELETE set null ("message_id") ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "inbound_messages" ADD CONSTRAINT "inbound_messages_mailbox_fk" FOREIGN KEY ("organization_id","mailbox_id") REFERENCES "public"."mailboxes"("organization_id","id") ON DELETE set null ("mailbox_id") ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "labels" ADD CONSTRAINT "labels_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "mailboxes" ADD CONSTRAINT "mailboxes_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "memberships" ADD CONSTRAINT "memberships_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "memberships" ADD CONSTRAINT "memberships_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "message_recipients" ADD CONSTRAINT "message_recipients_message_fk" FOREIGN KEY ("organization_id","message_id") REFERENCES "public"."messages"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "messages" ADD CONSTRAINT "messages_ticket_fk" FOREIGN KEY ("organization_id","ticket_id") REFERENCES "public"."tickets"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "participants" ADD CONSTRAINT "participants_ticket_fk" FOREIGN KEY ("organization_id","ticket_id") REFERENCES "public"."tickets"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "participants" ADD CONSTRAINT "participants_contact_fk" FOREIGN KEY ("organization_id","contact_id") REFERENCES "public"."contacts"("organization_id","id") ON DELETE set null ("contact_id") ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "refresh_tokens" ADD CONSTRAINT "refresh_tokens_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "ticket_counters" ADD CONSTRAINT "ticket_counters_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "ticket_labels" ADD CONSTRAINT "ticket_labels_ticket_fk" FOREIGN KEY ("organization_id","ticket_id") REFERENCES "public"."tickets"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "ticket_labels" ADD CONSTRAINT "ticket_labels_label_fk" FOREIGN KEY ("organization_id","label_id") REFERENCES "public"."labels"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "ticket_search" ADD CONSTRAINT "ticket_search_ticket_fk" FOREIGN KEY ("organization_id","ticket_id") REFERENCES "public"."tickets"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "tickets" ADD CONSTRAINT "tickets_contact_fk" FOREIGN KEY ("organization_id","contact_id") REFERENCES "public"."contacts"("organization_id","id") ON DELETE set null ("contact_id") ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "tickets" ADD CONSTRAINT "tickets_company_fk" FOREIGN KEY ("organization_id","company_id") REFERENCES "public"."companies"("organization_id","id") ON DELETE set null ("company_id") ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "tickets" ADD CONSTRAINT "tickets_mailbox_fk" FOREIGN KEY ("organization_id","mailbox_id") REFERENCES "public"."mailboxes"("organization_id","id") ON DELETE set null ("mailbox_id") ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "tickets" ADD CONSTRAINT "tickets_assignee_fk" FOREIGN KEY ("organization_id","assignee_id") REFERENCES "public"."memberships"("organization_id","user_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "time_entries" ADD CONSTRAINT "time_entries_ticket_fk" FOREIGN KEY ("organization_id","ticket_id") REFERENCES "public"."tickets"("organization_id","id") ON DELETE restrict ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "time_entries" ADD CONSTRAINT "time_entries_user_fk" FOREIGN KEY ("organization_id","user_id") REFERENCES "public"."memberships"("organization_id","user_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "webhooks" ADD CONSTRAINT "webhooks_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "activities_ticket" ON "activities" USING btree ("organization_id","ticket_id","id");--> statement-breakpoint
CREATE INDEX "attachments_message" ON "attachments" USING btree ("organization_id","message_id","id");--> statement-breakpoint
CREATE INDEX "attachments_unused" ON "attachments" USING btree ("id") WHERE "attachments"."message_id" is null;--> statement-breakpoint
CREATE INDEX "companies_domains" ON "companies" USING gin ("organization_id","domains");--> statement-breakpoint
CREATE UNIQUE INDEX "contacts_email" ON "contacts" USING btree ("organization_id",lower("email"));--> statement-breakpoint
CREATE INDEX "contacts_company" ON "contacts" USING btree ("organization_id","company_id","id");--> statement-breakpoint
CREATE INDEX "contacts_search" ON "contacts" USING gin ("organization_id","search" gin_trgm_ops);--> statement-breakpoint
CREATE INDEX "deliveries_webhook" ON "deliveries" USING btree ("organization_id","webhook_id","id");--> statement-breakpoint
CREATE INDEX "deliveries_event" ON "deliveries" USING btree ("organization_id","event_id");--> statement-breakpoint
CREATE INDEX "deliveries_age" ON "deliveries" USING btree ("id");--> statement-breakpoint
CREATE INDEX "email_anchors_ticket" ON "email_anchors" USING btree ("organization_id","ticket_id");--> statement-breakpoint
CREATE INDEX "email_anchors_message" ON "email_anchors" USING btree ("organization_id","message_id");--> statement-breakpoint
CREATE INDEX "events_age" ON "events" USING btree ("id");--> statement-breakpoint
CREATE INDEX "inbound_messages_outcome" ON "inbound_messages" USING btree ("organization_id","outcome","id");--> statement-breakpoint
CREATE INDEX "inbound_messages_mailbox" ON "inbound_messages" USING btree ("organization_id","mailbox_id","id");--> statement-breakpoint
CREATE INDEX "inbound_messages_age" ON "inbound_messages" USING btree ("id") WHERE "inbound_messages"."storage_key" is not null;--> statement-breakpoint
CREATE INDEX "inbound_messages_storage" ON "inbound_messages" USING btree ("storage_key");--> statement-breakpoint
CREATE UNIQUE INDEX "labels_name" ON "labels" USING btree ("organization_id",lower("name"));--> statement-breakpoint
CREATE UNIQUE INDEX "mailboxes_address" ON "mailboxes" USING btree (lower("address"));--> statement-breakpoint
CREATE UNIQUE INDEX "mailboxes_default" ON "mailboxes" USING btree ("organization_id") WHERE "mailboxes"."is_default";--> statement-breakpoint
CREATE INDEX "memberships_user" ON "memberships" USING btree ("user_id","created_at");--> statement-breakpoint
CREATE INDEX "messages_ticket" ON "messages" USING btree ("organization_id","ticket_id","id");--> statement-breakpoint
CREATE INDEX "outbox_due" ON "outbox" USING btree ("kind","run_at");--> statement-breakpoint
CREATE INDEX "outbox_lane" ON "outbox" USING btree ("lane_id","run_at");--> statement-breakpoint
CREATE UNIQUE INDEX "participants_email" ON "participants" USING btree ("organization_id","ticket_id",lower("email"));--> statement-breakpoint
CREATE INDEX "participants_contact" ON "participants" USING btree ("organization_id","contact_id");--> statement-breakpoint
CREATE INDEX "refresh_tokens_user" ON "refresh_tokens" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "refresh_tokens_expiry" ON "refresh_tokens" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "storage_removals_due" ON "storage_removals" USING btree ("due_at");--> statement-breakpoint
CREATE INDEX "ticket_labels_label" ON "ticket_labels" USING btree ("organization_id","label_id","ticket_id");--> statement-breakpoint
CREATE INDEX "ticket_search_document" ON "ticket_search" USING gin ("document");--> statement-breakpoint
CREATE INDEX "tickets_live" ON "tickets" USING btree ("organization_id","id") WHERE "tickets"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "tickets_status" ON "tickets" USING btree ("organization_id","status","id") WHERE "tickets"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "tickets_assignee" ON "tickets" USING btree ("organization_id","assignee_id","status","id") WHERE "tickets"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "tickets_contact" ON "tickets" USING btree ("organization_id","contact_id","id") WHERE "tickets"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "tickets_company" ON "tickets" USING btree ("organization_id","company_id","id") WHERE "tickets"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "tickets_updated" ON "tickets" USING btree ("organization_id","updated_at","id") WHERE "tickets"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "tickets_priority" ON "tickets" USING btree ("organization_id",ticket_rank("priority"),"id") WHERE "tickets"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "tickets_deleted" ON "tickets" USING btree ("deleted_at") WHERE "tickets"."deleted_at" is not null and purged_at is null;--> statement-breakpoint
CREATE INDEX "time_entries_date" ON "time_entries" USING btree ("organization_id","date","id");--> statement-breakpoint
CREATE INDEX "time_entries_ticket" ON "time_entries" USING btree ("organization_id","ticket_id","date","id");--> statement-breakpoint
CREATE INDEX "time_entries_user" ON "time_entries" USING btree ("organization_id","user_id","date","id");--> statement-breakpoint
CREATE UNIQUE INDEX "users_email" ON "users" USING btree (lower("email"));
--> statement-breakpoint
ALTER TABLE "outbox" SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off);
--> statement-breakpoint
ALTER TABLE "deliveries" SET (fillfactor = 80);
--> statement-breakpoint
ALTER TABLE "ticket_counters" SET (fillfactor = 20);
--> statement-breakpoint
ALTER TABLE "tickets" SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
