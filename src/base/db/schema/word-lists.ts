/** The word lists of columns: check constraints in the database have the same. */
import type { Format } from '../../html/formats'

export const ROLES = ['admin', 'agent'] as const
/** How a team gives its tickets to members: not, in turn, or to the one with the fewest open and pending ones. */
export const ASSIGNMENTS = ['none', 'round_robin', 'least_open'] as const
/** Promises of policies: the first answer to a customer, each later one, and the end of the work. */
export const PROMISE_METRICS = ['first_reply', 'next_reply', 'resolve'] as const
export const PROMISE_OUTCOMES = ['kept', 'breached', 'void'] as const
/** People who become members by signing in at the provider: nobody, by the domain of the email, by the role claim. */
export const PROVISIONS = ['none', 'domain', 'claim'] as const
/** The reasons for which a member is told of a ticket by mail. */
export const NOTIFY_REASONS = ['assigned', 'reply_on_mine', 'mentioned', 'new_unassigned', 'draft_kept'] as const
export const NOTIFY_WAYS = ['none', 'mail'] as const
export const PROVIDER_TOKEN_KINDS = ['state', 'code', 'logout'] as const
export const TICKET_STATUSES = ['open', 'pending', 'resolved', 'closed'] as const
/** Ordered by rank, lowest first. */
export const TICKET_PRIORITIES = ['low', 'normal', 'high', 'urgent'] as const
/** Words of contacts on the help (`desk/ratings`). */
export const RATING_SCORES = ['good', 'bad'] as const
/** The kinds of counts. Days are those of creation, in UTC. */
export const TALLY_KINDS = [
  'tickets',
  'tickets_of_contact',
  'tickets_of_company',
  'tickets_of_label',
  'tickets_of_custom',
  'tickets_of_day',
  'contacts_of_company',
] as const
/**
 * Events of tickets, as reports count them. One that the team began has no first reply. Promises are kept or
 * breached; the last two are ratings.
 */
export const FACT_KINDS = [
  ...(['created', 'began', 'replied', 'resolved', 'reopened', 'kept', 'breached'] as const),
  ...RATING_SCORES,
] as const
export const MESSAGE_DIRECTIONS = ['inbound', 'outbound'] as const
/** Forms of a text: as typed, or HTML. */
export const TEXT_FORMATS = ['text', 'html'] as const satisfies readonly Format[]
/** How a message came: by mail, by the API, or from a customer's page. */
export const MESSAGE_CHANNELS = ['email', 'api', 'portal'] as const
/** The tickets that a customer's token shows: the contact's, or also those of its company. */
export const CONTACT_TOKEN_SCOPES = ['own', 'company'] as const
export const EMAIL_STATUSES = ['none', 'queued', 'sent', 'failed', 'bounced'] as const
export const RECIPIENT_STATUSES = ['queued', 'sent', 'failed', 'bounced'] as const
export const RECIPIENT_KINDS = ['to', 'cc'] as const
/** Earlier messages that stand below an answer in its email. */
export const QUOTES = ['none', 'last', 'all'] as const
export const SMTP_SECURITIES = ['none', 'starttls', 'tls'] as const
export const RETENTION_STATUSES = ['resolved', 'closed'] as const
export const RETENTION_ACTIONS = ['erase', 'delete'] as const
export const OAUTH_GRANTS = ['client_credentials', 'refresh_token'] as const
/** The TXT record of the domain, or `cli domain allow`. */
export const DOMAIN_VERIFIERS = ['dns', 'operator'] as const
/** Providers that bring mail over HTTPS. */
export const INLET_PROVIDERS = ['raw', 'postmark', 'cloudmailin', 'mailgun', 'sendgrid'] as const
/** Spam is held until somebody releases it, or filed like other mail. */
export const SPAM_POLICIES = ['hold', 'mark'] as const
export const SENDER_RULE_ACTIONS = ['block', 'allow'] as const
/** Judges that read a message: a trusted relay, or rspamd. */
export const MAIL_JUDGES = ['relay', 'rspamd'] as const
/** Holders of spam: these judges, a rule of the organization, or the limit of repeated Message-IDs. */
export const SPAM_JUDGES = [...MAIL_JUDGES, 'sender_rule', 'repeat'] as const
/** The verdict of a scan for viruses. `pending`: it is still to be asked; `skipped`: too large for the scanner. */
export const SCANS = ['clean', 'infected', 'pending', 'skipped'] as const
export const WEBHOOK_STATUSES = ['active', 'failed'] as const
export const RULE_STATUSES = ['active', 'failed'] as const
export const DELIVERY_STATUSES = ['pending', 'retrying', 'success', 'failed', 'cancelled'] as const
export const OUTBOX_KINDS = ['webhook', 'email', 'inbound', 'letter', 'wake', 'draft', 'rule', 'promise'] as const
export const DEED_KINDS = [
  'merge contacts',
  'erase contact',
  'delete contact',
  'delete company',
  'delete team',
  'delete mailbox',
  'delete label',
  'give company',
  'review promises',
] as const
/** Authors of drafts. */
export const AUTHOR_TYPES = ['user', 'api_key'] as const
/** Reasons for which a draft was not sent at its moment: codes of errors. */
export const SEND_ERRORS = [
  'DRAFT_STALE',
  'USER_NOT_FOUND',
  'TICKET_MERGED',
  'INVALID_STATUS',
  'EMAIL_SEND_FAILED',
  'ATTACHMENT_INFECTED',
] as const
export const ACTOR_TYPES = ['user', 'api_key', 'contact', 'system'] as const
/** Actors of the audit log. Customers do nothing that it lists. */
export const AUDIT_ACTOR_TYPES = ['user', 'api_key', 'operator', 'system'] as const
export const INBOUND_OUTCOMES = [
  'pending',
  'ticket',
  'message',
  'bounce',
  'duplicate',
  'own',
  'unmatched_bounce',
  'unparsed',
  'spam',
] as const
/** Outcomes in the ledger as the API shows it. Refused mail has a table of its own. */
export const LEDGER_OUTCOMES = [...INBOUND_OUTCOMES, 'refused'] as const
export const THREADING_RULES = ['in_reply_to', 'references', 'message_id', 'reply_tag', 'subject_code', 'new'] as const
/** Results of SPF, DKIM, DMARC and ARC (RFC 8601, section 2.7). */
export const AUTHENTICATION_RESULTS = [
  'none',
  'pass',
  'fail',
  'softfail',
  'neutral',
  'policy',
  'temperror',
  'permerror',
] as const
/** `flag` only shows whose mail is not proven to be theirs; `restrict` gives such mail fewer rights. */
export const SENDER_POLICIES = ['flag', 'restrict'] as const
export const EVENTS = [
  'ticket.created',
  'ticket.updated',
  'ticket.deleted',
  'ticket.assigned',
  'ticket.status_changed',
  'ticket.erased',
  'ticket.merged',
  'ticket.unmerged',
  'ticket.split',
  'ticket.rated',
  'ticket.sla_due_soon',
  'ticket.sla_breached',
  'message.created',
  'message.deleted',
  'message.email_sent',
  'message.email_failed',
  'message.email_bounced',
  'message.erased',
  'contact.created',
  'contact.updated',
  'contact.deleted',
  'company.created',
  'company.updated',
  'company.deleted',
  'label.created',
  'label.updated',
  'label.deleted',
  'time_entry.created',
  'time_entry.updated',
  'time_entry.deleted',
  'inbound_message.filed',
  'organization.imported',
  'test.ping',
] as const
