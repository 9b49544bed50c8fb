/** How far an organization is on its way to real mail, as the API tells. */
import type { Stats } from '../../../desk/stats/model'
import type { Ticket, TicketWithMessages } from '../../../desk/tickets/model'
import type { Domain } from '../../../mail/domains/model'
import type { InboundMessage } from '../../../mail/inbound-messages/model'
import type { Mailbox } from '../../../mail/mailboxes/model'
import type { OutboundMessage } from '../../../mail/outbound-messages/model'
import type { User } from '../../../people/users/model'
import type { Api } from '../api'
import { useLive } from '../live'

/** Mail of our own that comes back is in no event. */
const EVERY_MS = 8000
/** The field of a ticket that was made to try the way out and back. */
export const TEST_FIELD = 'deskwire_test'

export type Progress = {
  mailbox: Mailbox | undefined
  smtp: Stats['smtp']
  domains: Domain[]
  /** The newest email that came in by itself: not one that was put in by hand. */
  arrived: InboundMessage | undefined
  /** The newest test, with what came back of it. */
  test: Test | undefined
  /** An email has left to somebody. */
  has_sent: boolean
  colleagues: number
}

type Test = { ticket: TicketWithMessages; returned: InboundMessage | undefined }

/** Reads it again and again while it is shown. */
export function useProgress(api: Api) {
  return useLive<Progress>(
    `progress ${api.organization_id}`,
    async (_before, signal) => {
      const read = async <T>(path: string) => (await api.get<T>(path, { signal })).data
      const [mailboxes, stats, domains, inbound, users, test, sent] = await Promise.all([
        read<Mailbox[]>('/mailboxes?per_page=100'),
        read<Stats>('/stats'),
        read<Domain[]>('/domains?per_page=100'),
        read<InboundMessage[]>('/inbound-messages?per_page=50'),
        read<User[]>('/users?per_page=2'),
        readTest(read),
        read<OutboundMessage[]>('/outbound-messages?status=sent&per_page=1'),
      ])
      return {
        mailbox: mailboxes.find(({ is_default }) => is_default) ?? mailboxes[0],
        smtp: stats.smtp,
        domains,
        arrived: inbound.find(({ envelope_from, outcome }) => envelope_from !== null && outcome !== 'own'),
        test,
        has_sent: sent.length > 0,
        colleagues: users.length - 1,
      }
    },
    EVERY_MS,
  )
}

async function readTest(read: <T>(path: string) => Promise<T>): Promise<Test | undefined> {
  const [newest] = await read<Ticket[]>(`/tickets?custom.${TEST_FIELD}=true&per_page=1`)
  if (!newest) return undefined
  const ticket = await read<TicketWithMessages>(`/tickets/${newest.id}`)
  const id = ticket.messages.find(({ direction }) => direction === 'outbound')?.email_message_id
  if (!id) return { ticket, returned: undefined }
  const [returned] = await read<InboundMessage[]>(
    `/inbound-messages?per_page=1&email_message_id=${encodeURIComponent(id)}`,
  )
  return { ticket, returned }
}

/** The steps that are done already. */
export function doneOf({ mailbox, arrived, test, has_sent, colleagues }: Progress) {
  return {
    mailbox: mailbox !== undefined,
    server: !!mailbox?.smtp && mailbox.sending.ok,
    arrived: arrived !== undefined || test?.returned !== undefined,
    sent: has_sent,
    colleague: colleagues > 0,
  }
}
