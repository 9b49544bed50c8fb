/** The words of the audit log. A check in the database would need a migration for each new one: there is none. */

export const AUDIT_ACTIONS = [
  ...(['auth.login', 'auth.login_failed', 'auth.logout', 'auth.session_ended'] as const),
  ...(['auth.password_changed', 'auth.password_reset'] as const),
  ...(['auth.second_factor_enabled', 'auth.second_factor_disabled', 'auth.second_factor_reset'] as const),
  ...(['identity_provider.updated', 'identity_provider.deleted'] as const),
  ...(['user.identity_linked', 'user.identity_unlinked'] as const),
  ...(['user.created', 'user.updated', 'user.removed', 'user.left'] as const),
  ...(['team.created', 'team.updated', 'team.deleted'] as const),
  ...(['schedule.created', 'schedule.updated', 'schedule.deleted'] as const),
  ...(['sla_policy.created', 'sla_policy.updated', 'sla_policy.deleted'] as const),
  ...(['rule.created', 'rule.updated', 'rule.deleted', 'rule.failed'] as const),
  ...(['invitation.created', 'invitation.resent', 'invitation.revoked'] as const),
  ...(['invitation.accepted', 'invitation.declined', 'organization.updated'] as const),
  ...(['mailbox.created', 'mailbox.updated', 'mailbox.deleted'] as const),
  ...(['webhook.created', 'webhook.updated', 'webhook.deleted'] as const),
  ...(['webhook.replayed', 'webhook.failed'] as const),
  ...(['domain.created', 'domain.updated', 'domain.deleted'] as const),
  ...(['api_key.created', 'api_key.updated', 'api_key.revoked', 'api_key.request'] as const),
  ...(['inbound_message.raw_read', 'inbound_message.imported', 'inbound_message.released'] as const),
  ...(['sender_rule.created', 'sender_rule.deleted'] as const),
  ...(['time_entries.exported', 'contact.exported', 'contact.erased', 'contact.merged'] as const),
  ...(['contact_token.created', 'contact_token.revoked'] as const),
  ...(['retention.updated', 'retention.applied'] as const),
] as const

/** A command of the operator is listed by its name with underscores: `operator.user_password`. */
export const OPERATOR_ACTION = /^operator\.[a-z_]{1,50}$/

export type AuditAction = (typeof AUDIT_ACTIONS)[number] | `operator.${string}`

export const AUDIT_RESOURCES = [
  ...(['user', 'session', 'invitation', 'organization', 'mailbox', 'webhook', 'domain', 'api_key'] as const),
  ...(['inbound_message', 'sender_rule', 'contact', 'contact_token', 'team'] as const),
  ...(['schedule', 'sla_policy', 'rule'] as const),
] as const

export type AuditResource = (typeof AUDIT_RESOURCES)[number]
