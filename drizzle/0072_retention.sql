CREATE TABLE "retention" (
	"organization_id" uuid NOT NULL,
	"rules" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"hold_label_ids" uuid[] DEFAULT '{}' NOT NULL,
	"changed_at" timestamp with time zone DEFAULT now() NOT NULL,
	"applied_at" timestamp with time zone,
	CONSTRAINT "retention_organization_id_pk" PRIMARY KEY("organization_id")
);
--> statement-breakpoint
CREATE TABLE "retention_erasures" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"ids" uuid[] NOT NULL,
	CONSTRAINT "retention_erasures_organization_id_id_pk" PRIMARY KEY("organization_id","id")
);
