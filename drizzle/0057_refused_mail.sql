CREATE TABLE "refused_messages" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"recipient" text NOT NULL,
	"envelope_sender" text NOT NULL,
	"from_keys" text[] NOT NULL,
	"to_keys" text[] NOT NULL,
	"smtp_reply" text NOT NULL,
	"remote_address" text NOT NULL,
	"helo" text,
	"tls" boolean NOT NULL,
	"received_at" timestamp with time zone GENERATED ALWAYS AS (uuid_time(id)) STORED NOT NULL,
	CONSTRAINT "refused_messages_organization_id_id_pk" PRIMARY KEY("organization_id","id")
);
