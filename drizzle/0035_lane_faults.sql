CREATE TABLE "lane_faults" (
	"organization_id" uuid NOT NULL,
	"lane_id" uuid NOT NULL,
	"error" text NOT NULL,
	"failing_since" timestamp with time zone DEFAULT now() NOT NULL,
	"tries" integer DEFAULT 1 NOT NULL,
	"try_at" timestamp with time zone NOT NULL,
	"tried_id" uuid NOT NULL,
	CONSTRAINT "lane_faults_organization_id_lane_id_pk" PRIMARY KEY("organization_id","lane_id")
);
--> statement-breakpoint
ALTER TABLE "outbox" ADD COLUMN "queued_at" timestamp with time zone DEFAULT now() NOT NULL;--> statement-breakpoint
-- Safe beside older processes: a lane of letters is only a limit of work in flight.
UPDATE "outbox" SET "lane_id" = "organization_id" WHERE "kind" = 'letter';
