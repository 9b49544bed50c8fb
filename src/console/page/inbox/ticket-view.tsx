/** One ticket: its properties, the conversation, and what belongs to it. */
import { ArrowLeft } from 'lucide'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import type { Ticket, TicketWithMessages } from '../../../desk/tickets/model'
import { type Answer, Refusal } from '../api'
import { EVERY_MS, useLive } from '../live'
import { hrefOf } from '../route'
import { Icon } from '../ui/icons'
import { Waiting } from '../ui/placeholders'
import { attempt } from '../ui/toasts'
import type { Change, Names, View } from '../view-types'
import { t } from '../words/catalogue'
import { Composer } from './composer'
import { look } from './looked'
import { Merged } from './merge'
import { Conversation } from './message-list'
import { Reading } from './reading'
import { Side } from './side'
import { TicketHead } from './ticket-head'

/** The ticket on the page, and its tag: a change that was made on an older state is refused. */
type Shown = { ticket: TicketWithMessages; etag: string | null }

export function TicketView(view: View & { ticket_id: string; names: Names }) {
  const { api, route, ticket_id, names } = view
  const live = useTicket(view)
  const shown = live.value?.ticket
  useEffect(() => {
    if (shown) look(shown)
  }, [shown])
  const section = useRef<HTMLElement>(null)
  useLayoutEffect(() => showNewest(section.current), [shown === undefined])
  const back = hrefOf(api.organization_id, ['tickets'], route.query)
  if (!live.value) {
    return (
      <section class="ticket" aria-label={t('ticket.ticket')}>
        <Back href={back} />
        <Waiting error={live.error} lines={10} />
      </section>
    )
  }
  const { ticket } = live.value
  const change: Change = async (changes) => {
    const done = await attempt(() =>
      patch(() => api.patch<Ticket>(`/tickets/${ticket_id}`, changes, { 'if-match': live.latest()!.etag! })),
    )
    if (done) look(done.data)
    await live.reload()
    return done !== undefined
  }
  if (ticket.merged_into) {
    return (
      <section class="ticket" aria-label={t('ticket.named', { ticket: ticket.code })}>
        <div class="talk">
          <Back href={back} />
          <h1 dir="auto">{ticket.subject}</h1>
          <Merged {...view} ticket={ticket} reload={live.reload} />
        </div>
      </section>
    )
  }
  return (
    <section class="ticket" aria-label={t('ticket.named', { ticket: ticket.code })} ref={section}>
      <div class="talk">
        <Back href={back} />
        <TicketHead {...view} ticket={ticket} names={names} change={change} />
        {live.error && <Waiting error={live.error} />}
        <Reading key={ticket.id}>
          <Conversation {...view} ticket={ticket} reload={live.reload} />
        </Reading>
        <Composer {...view} ticket={ticket} names={names} change={change} reload={live.reload} />
      </div>
      <Side {...view} ticket={ticket} reload={live.reload} />
    </section>
  )
}

/** Where the whole ticket scrolls, such as on a phone, it is opened at its newest message too. */
function showNewest(section: HTMLElement | null): void {
  const messages = section?.querySelector('.messages-scroll')
  const newest = messages?.querySelector('.messages > li:last-child')
  if (!newest || getComputedStyle(messages!).overflowY !== 'visible') return
  if (newest.getBoundingClientRect().bottom > innerHeight) newest.scrollIntoView()
}

function useTicket({ api, ticket_id }: View & { ticket_id: string }) {
  return useLive<Shown>(
    ticket_id,
    async (before, signal) => {
      const headers = before?.etag ? { 'if-none-match': before.etag } : undefined
      const answer = await api.get<TicketWithMessages>(`/tickets/${ticket_id}`, { headers, signal })
      return before && answer.status === 304 ? before : { ticket: answer.data, etag: answer.etag }
    },
    EVERY_MS,
    ({ ids }, shown) => {
      const { contact, labels } = shown?.ticket ?? { contact: null, labels: [] }
      return [ticket_id, contact?.id, ...labels.map(({ id }) => id)].some((id) => id && ids.includes(id))
    },
  )
}

function Back({ href }: { href: string }) {
  return (
    <a class="back button" href={href}>
      <Icon of={ArrowLeft} /> {t('ticket.back')}
    </a>
  )
}

/** Says in words that somebody else was faster. */
async function patch(send: () => Promise<Answer<Ticket>>): Promise<Answer<Ticket>> {
  try {
    return await send()
  } catch (error) {
    if (!(error instanceof Refusal) || error.status !== 412) throw error
    throw new Refusal(412, error.code, t('ticket.changed_meanwhile'), {})
  }
}
