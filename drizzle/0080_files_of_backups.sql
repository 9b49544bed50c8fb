-- Safe beside older processes: writes of attachments wait, some seconds for a million.
CREATE INDEX "attachments_storage" ON "attachments" USING btree ("storage_key");