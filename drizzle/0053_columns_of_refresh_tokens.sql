ALTER TABLE "refresh_tokens" ADD COLUMN "provider_organization_id" uuid;--> statement-breakpoint
ALTER TABLE "refresh_tokens" ADD COLUMN "provider_subject" text;--> statement-breakpoint
ALTER TABLE "refresh_tokens" ADD COLUMN "provider_sid" text;
--> statement-breakpoint
-- Safe beside older processes: no row has the column yet, so one short scan builds the index.
CREATE INDEX "refresh_tokens_provider" ON "refresh_tokens" USING btree ("provider_organization_id","provider_subject") WHERE "refresh_tokens"."provider_organization_id" is not null;
