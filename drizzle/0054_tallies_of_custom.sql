ALTER TABLE "tallies" DROP CONSTRAINT "tallies_kind";--> statement-breakpoint
ALTER TABLE "tallies" ADD CONSTRAINT "tallies_kind" CHECK ("kind" in ('tickets', 'tickets_of_contact', 'tickets_of_company', 'tickets_of_label', 'tickets_of_custom', 'tickets_of_day', 'contacts_of_company'));
