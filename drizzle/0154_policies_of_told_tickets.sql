CREATE TRIGGER tickets_facts_policy AFTER UPDATE OF sla_policy_id ON tickets
	FOR EACH ROW WHEN (old.sla_policy_id IS DISTINCT FROM new.sla_policy_id) EXECUTE FUNCTION group_facts();
