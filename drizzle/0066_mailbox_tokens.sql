CREATE TABLE "mailbox_sign_ins" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"grant" text NOT NULL,
	"token_url" text NOT NULL,
	"client_id" text NOT NULL,
	"scope" text,
	"client_secret" text,
	"refresh_token" text,
	"access_token" text,
	"access_token_until" timestamp with time zone,
	"fetched_by" uuid,
	"fetched_until" timestamp with time zone,
	"version" uuid NOT NULL,
	CONSTRAINT "mailbox_sign_ins_organization_id_id_pk" PRIMARY KEY("organization_id","id"),
	CONSTRAINT "mailbox_sign_ins_grant" CHECK ("mailbox_sign_ins"."grant" in ('client_credentials', 'refresh_token'))
);
