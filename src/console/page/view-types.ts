/** Types that the parts of the page hand to each other. */

import type { TicketChanges, TicketWithMessages } from '../../desk/tickets/model'
import type { Me } from '../../people/auth/model'
import type { Api } from './api'
import type { Included } from './inbox/after-event'
import type { Route } from './route'

type Organization = Me['organizations'][number]

/** The properties that every view gets. */
export type View = { api: Api; route: Route; me: Me; organization: Organization }

/** Changes the ticket that is open. @returns whether it was done */
export type Change = (changes: TicketChanges) => Promise<boolean>

/** The properties that the composer gets, and its parts. */
export type ComposerProps = View & {
  ticket: TicketWithMessages
  included: Included
  turns: number[]
  change: Change
  reload: () => Promise<void>
}

/** Tells if the page shows somebody what is for admins. The service alone decides what they may do. */
export function isAdmin({ role }: { role: Organization['role'] }): boolean {
  return role === 'admin'
}
