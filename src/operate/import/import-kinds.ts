/** All kinds of things that are imported, in the order of their files. */
import { COMPANIES, CONTACTS, LABELS } from './import-customers'
import { MESSAGES } from './import-messages'
import { USERS } from './import-people'
import { TEAMS } from './import-teams'
import { TICKETS } from './import-tickets'
import { PARTICIPANTS, TIME_ENTRIES } from './ticket-parts'

export const KINDS = {
  companies: COMPANIES,
  users: USERS,
  contacts: CONTACTS,
  labels: LABELS,
  teams: TEAMS,
  tickets: TICKETS,
  participants: PARTICIPANTS,
  messages: MESSAGES,
  time_entries: TIME_ENTRIES,
}
export type FileName = keyof typeof KINDS
