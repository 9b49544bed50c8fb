CREATE TABLE "identities" (
	"organization_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"issuer" text NOT NULL,
	"subject" text NOT NULL,
	"linked_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "identities_organization_id_user_id_pk" PRIMARY KEY("organization_id","user_id")
);
--> statement-breakpoint
CREATE TABLE "identity_providers" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"issuer" text NOT NULL,
	"client_id" text NOT NULL,
	"client_secret" text,
	"redirect_uris" text[] DEFAULT '{}' NOT NULL,
	"trust_email" boolean DEFAULT false NOT NULL,
	"provision" text DEFAULT 'none' NOT NULL,
	"domains" text[] DEFAULT '{}' NOT NULL,
	"role_claim" text,
	"role_values" jsonb NOT NULL,
	"session_seconds" integer NOT NULL,
	"required" boolean DEFAULT false NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "identity_providers_organization_id_id_pk" PRIMARY KEY("organization_id","id"),
	CONSTRAINT "identity_providers_provision" CHECK ("identity_providers"."provision" in ('none', 'domain', 'claim'))
);
--> statement-breakpoint
CREATE TABLE "provider_tokens" (
	"organization_id" uuid NOT NULL,
	"kind" text NOT NULL,
	"token_hash" "bytea" NOT NULL,
	"data" jsonb NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	CONSTRAINT "provider_tokens_organization_id_kind_token_hash_pk" PRIMARY KEY("organization_id","kind","token_hash"),
	CONSTRAINT "provider_tokens_kind" CHECK ("provider_tokens"."kind" in ('state', 'code', 'logout'))
);--> statement-breakpoint
ALTER TABLE "identities" ADD CONSTRAINT "identities_membership_fk" FOREIGN KEY ("organization_id","user_id") REFERENCES "public"."memberships"("organization_id","user_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "identity_providers" ADD CONSTRAINT "identity_providers_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "identities_subject" ON "identities" USING btree ("organization_id","issuer","subject");--> statement-breakpoint
CREATE UNIQUE INDEX "identity_providers_organization" ON "identity_providers" USING btree ("organization_id");--> statement-breakpoint
CREATE INDEX "provider_tokens_expiry" ON "provider_tokens" USING btree ("expires_at");
