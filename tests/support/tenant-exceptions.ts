/**
 * Lists the statements that may name a table without its organization, by reason. A place is a function of a file, a
 * file or a folder. Beyond these, no statement of the product leaves its organization out.
 */
export const EXCEPTIONS: Record<string, string[]> = {
  'a restore fills the numbers of all organizations, and no other process is there': [
    'operate/backup/load passTicketNumbers',
  ],
  'the condition is there, in a form that keeps the planner from the primary key': [
    'desk/search/ticket-search foundInBlock',
  ],
  'the caller has no organization yet: a token, a link or an account says which there are': [
    'http/admission/known-keys readKey',
    'people/auth/password-reset',
    'people/auth/queries listMemberships',
    'people/auth/queries getMe',
    'people/auth/sessions endSessionsOfNoMember',
    'people/invitations/queries getByToken',
    'mail/letters/live-links findLiveTokens',
    'people/invitations/queries findInvitedAccount',
    'people/organizations/queries listOrganizations',
  ],
  'an address belongs to one organization of all, so all are asked who has it': [
    'mail/mailboxes/claims',
    'desk/messages/mailbox-address',
    'mail/domains/commands forgetFormer',
    'mail/domains/commands settleDomain',
    'mail/letters/ways isOwnMailbox',
    'mail/mailboxes/queries findMailboxesByAddress',
  ],
  'an account is shared by organizations: its change needs those of the others': [
    'people/auth/account-audit auditAccount',
    'people/auth/account-audit writeAccountEntries',
    'people/auth/queries isMemberElsewhere',
    'people/users/queries isReliedOnElsewhere',
  ],
  'removes what has ended in tables with a copy on every machine': [
    'people/auth/forget-accounts',
    'people/invitations/commands removeOldInvitations',
    'people/invitations/letter-limits forgetOldLetters',
  ],
  'an email is stored once for all organizations that got it: a job asks who still names it': [
    'desk/attachments/removals namedOriginals',
  ],
  'asks which organizations have work': [
    'base/db/all-organizations withRows',
    'people/auth/account-audit findNoted',
    'base/db/all-organizations organizationsByMachine',
    'base/db/fills fillSome',
    'base/db/fills mayOlderRead',
    'desk/tallies/fold-changes fold',
    'delivery/outbox/due-lanes',
    'delivery/outbox/lane-faults endWaits',
    'delivery/outbox/lane-faults giveTurns',
    'delivery/webhooks/upkeep findDeletedWebhooks',
    'delivery/webhooks/upkeep findForgotten',
    'delivery/webhooks/upkeep findInactive',
    'delivery/webhooks/upkeep findOldDeliveries',
    'delivery/webhooks/upkeep findOldEvents',
    'desk/tickets/closed deleteClosedTickets',
    'desk/timers/commands findAbandoned',
    'mail/inbound/ledger-retention removeOldLedger',
  ],
  'a command of the operator looks at all organizations': [
    'operate/backup/stored-files',
    'operate/backup/try-secrets',
    'base/db/cluster/place-tables',
    'operate/doctor/',
    'people/invitations/commands renewLinks',
    'mail/mailboxes/queries listMailDomains',
    'people/organizations/first',
    'delivery/outbox/operate outboxStats',
    'delivery/outbox/operate endAllLeases',
    'operate/start/rotate-secrets',
    'operate/start/secret-groups',
  ],
  'figures of the whole service': ['mail/inbound/capacity hasMorePending', 'base/metrics/top'],
  'work of a migration': ['base/db/address-keys', 'base/db/finish-tallies', 'base/db/statistics'],
}
