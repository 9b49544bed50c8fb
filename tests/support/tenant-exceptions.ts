/**
 * Lists the statements that may name a table without its organization, by reason. A place is a function of a file, a file or
 * a folder. Beyond these, no statement of the product leaves its organization out.
 */
export const EXCEPTIONS: Record<string, string[]> = {
  'the condition is there, in a form that keeps the planner from the primary key': [
    'search/ticket-search foundInBlock',
  ],
  'the caller has no organization yet: a token, a link or an account says which there are': [
    'api-keys/known-keys readKey',
    'auth/password-reset',
    'auth/queries listMemberships',
    'auth/queries getMe',
    'auth/sessions endSessionsOfNoMember',
    'invitations/queries getByToken',
    'invitations/queries findInvitedAccount',
    'organizations/queries listOrganizations',
  ],
  'an address belongs to one organization of all, so all are asked who has it': [
    'domains/claims',
    'domains/commands forgetFormer',
    'domains/commands settleDomain',
    'mailboxes/queries findMailboxesByAddress',
  ],
  'an account is shared by organizations: its change needs those of the others': [
    'audit-log/audit auditAccount',
    'users/queries isMemberElsewhere',
    'users/queries isReliedOnElsewhere',
  ],
  'letters to one address are counted for all organizations together': ['invitations/letter-limits'],
  'removes what has ended in tables with a copy on every machine': [
    'auth/forget-accounts',
    'invitations/commands removeOldInvitations',
  ],
  'an email is stored once for all organizations that got it: a job asks who still names it': [
    'attachments/removals namedOriginals',
  ],
  'asks which organizations have work': [
    'attachments/commands removeUnusedUploads',
    'audit-log/audit-retention findOld',
    'db/all-organizations nodesOf',
    'letters/send-letter findOldLetters',
    'mail/inbound/retention findOld',
    'tallies/fold-changes fold',
    'metrics/organization-figures findOld',
    'tickets/purge findDeleted',
    'outbox/due-lanes',
    'webhooks/upkeep findDeletedWebhooks',
    'webhooks/upkeep findExpired',
    'webhooks/upkeep findForgotten',
    'webhooks/upkeep findInactive',
    'webhooks/upkeep findOldDeliveries',
    'webhooks/upkeep findOldEvents',
    'webhooks/upkeep findReplacedSecrets',
    'tickets/closed deleteClosedTickets',
    'http/rerun/idempotency-keys findExpired',
    'timers/commands findAbandoned',
    'mail/inbound/ledger-retention removeOldLedger',
  ],
  'a command of the operator looks at all organizations': [
    'backup/stored-files',
    'backup/try-secrets',
    'doctor/',
    'invitations/commands renewLinks',
    'mailboxes/queries listMailDomains',
    'organizations/first',
    'outbox/operate outboxStats',
    'outbox/operate endAllLeases',
    'start/rotate-secrets',
    'start/secret-groups',
  ],
  'figures of the whole service': ['mail/inbound/capacity hasMorePending', 'metrics/top'],
  'an original belongs to all organizations that a message went to': ['attachments/removals namedOriginals'],
  'work of a migration': ['db/address-keys', 'db/fills', 'db/finish-tallies', 'db/statistics'],
}

/** Files whose statements are still to name their organizations. */
export const PENDING: string[] = []
