ALTER TABLE "mailboxes" ADD COLUMN "signature" text;
