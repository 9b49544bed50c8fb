CREATE TABLE "idempotency_keys" (
	"organization_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"key_digest" "bytea" NOT NULL,
	"request_digest" "bytea",
	"token" uuid NOT NULL,
	"lease_until" timestamp with time zone,
	"status" integer,
	"answer" text,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "idempotency_keys_organization_id_user_id_key_digest_pk" PRIMARY KEY("organization_id","user_id","key_digest"),
	CONSTRAINT "idempotency_keys_answer" CHECK (num_nulls("idempotency_keys"."status", "idempotency_keys"."answer") in (0, 2)),
	CONSTRAINT "idempotency_keys_end" CHECK ("idempotency_keys"."lease_until" is not null or "idempotency_keys"."answer" is not null)
);
--> statement-breakpoint
ALTER TABLE "idempotency_keys" ADD CONSTRAINT "idempotency_keys_member_fk" FOREIGN KEY ("organization_id","user_id") REFERENCES "public"."memberships"("organization_id","user_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "idempotency_keys_age" ON "idempotency_keys" USING btree ("created_at");