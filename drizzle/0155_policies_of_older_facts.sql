UPDATE ticket_facts f SET sla_policy_id = t.sla_policy_id
FROM tickets t
WHERE t.organization_id = f.organization_id AND t.id = f.ticket_id AND t.sla_policy_id IS NOT NULL;
