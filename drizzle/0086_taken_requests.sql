CREATE TABLE "taken_requests" (
	"organization_id" uuid NOT NULL,
	"request_digest" "bytea" NOT NULL,
	"mail_digest" "bytea" NOT NULL,
	"inbound_message_id" uuid NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	CONSTRAINT "taken_requests_once" PRIMARY KEY("organization_id","request_digest")
);
--> statement-breakpoint
CREATE INDEX "taken_requests_expiry" ON "taken_requests" USING btree ("expires_at");