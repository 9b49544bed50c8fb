CREATE TABLE "stats" (
	"organization_id" uuid NOT NULL,
	"size_s" integer NOT NULL,
	"at" timestamp with time zone NOT NULL,
	"mail_tickets" bigint DEFAULT 0 NOT NULL,
	"mail_messages" bigint DEFAULT 0 NOT NULL,
	"mail_bounces" bigint DEFAULT 0 NOT NULL,
	"mail_others" bigint DEFAULT 0 NOT NULL,
	"emails_sent" bigint DEFAULT 0 NOT NULL,
	"emails_failed" bigint DEFAULT 0 NOT NULL,
	"emails_bounced" bigint DEFAULT 0 NOT NULL,
	"deliveries_ok" bigint DEFAULT 0 NOT NULL,
	"deliveries_failed" bigint DEFAULT 0 NOT NULL,
	"delivery_ms" bigint DEFAULT 0 NOT NULL,
	"requests_ok" bigint DEFAULT 0 NOT NULL,
	"requests_refused" bigint DEFAULT 0 NOT NULL,
	"requests_failed" bigint DEFAULT 0 NOT NULL,
	CONSTRAINT "stats_organization_id_size_s_at_pk" PRIMARY KEY("organization_id","size_s","at")
);
