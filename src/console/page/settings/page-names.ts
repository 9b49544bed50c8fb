/** The pages of the settings by their names, in the order of their links: of each person, and of admins. */
const PAGE_GROUPS = [
  { name: 'yours', pages: ['account', 'notify', 'factor', 'sessions'], is_for_admins: false },
  { name: 'work', pages: ['labels', 'macros', 'views'], is_for_admins: false },
  { name: 'mail', pages: ['mailboxes', 'domains', 'inbound', 'outbound', 'senders'], is_for_admins: true },
  {
    name: 'organization',
    pages: [
      ...(['start', 'organization', 'people', 'teams', 'schedules', 'policies', 'rules'] as const),
      ...(['signin', 'keys', 'webhooks', 'retention', 'imports', 'audit'] as const),
    ],
    is_for_admins: true,
  },
] as const

export type PageName = (typeof PAGE_GROUPS)[number]['pages'][number]

/** @returns the groups that a person may open */
export function pageGroupsFor(is_admin: boolean) {
  return PAGE_GROUPS.filter(({ is_for_admins }) => is_admin || !is_for_admins)
}
