CREATE TABLE "imported_rows" (
	"organization_id" uuid NOT NULL,
	"key" uuid NOT NULL,
	"row_id" uuid NOT NULL,
	"digest" uuid,
	"state" text,
	CONSTRAINT "imported_rows_organization_id_key_pk" PRIMARY KEY("organization_id","key")
);
--> statement-breakpoint
ALTER TABLE "imported_rows" ADD CONSTRAINT "imported_rows_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;