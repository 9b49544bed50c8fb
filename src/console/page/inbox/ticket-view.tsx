/** One ticket: its properties, the conversation, and what belongs to it. */
import { ArrowLeft } from 'lucide'
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { Ticket, TicketWithMessages } from '../../../desk/tickets/model'
import type { FieldName } from '../../../desk/tickets/ticket-fields'
import { type Answer, type Api, Refusal } from '../api'
import { learn, type Told } from '../events'
import { EVERY_MS, useLive } from '../live'
import { hrefOf } from '../route'
import { Icon } from '../ui/icons'
import { Waiting } from '../ui/placeholders'
import { attempt } from '../ui/toasts'
import type { Change, View } from '../view-types'
import { t } from '../words/catalogue'
import { type Shown, shownAfter } from './after-event'
import { Composer } from './composer'
import { Merged } from './merge'
import { Conversation } from './message-list'
import { useReadMark } from './read-mark'
import { readShown } from './read-shown'
import { Reading } from './reading'
import { Side } from './side'
import { TicketHead } from './ticket-head'
import { writingOf } from './writings'

export function TicketView(view: View & { ticket_id: string }) {
  const { api, route, ticket_id } = view
  const live = useTicket(view)
  const shown = live.value?.ticket
  useReadMark(view, shown)
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
  const { ticket, included } = live.value
  const change: Change = async (changes) => {
    const done = await attempt(async () => {
      const tag = live.latest()!.etag ?? (await readTag(api, live))
      return patch(() => api.patch<Ticket>(`/tickets/${ticket_id}`, changes, { 'if-match': tag }))
    })
    if (done) learn('ticket.updated', done.data, done.etag)
    else await live.reload()
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
        <TicketHead {...view} ticket={ticket} included={included} change={change} />
        {live.error && <Waiting error={live.error} />}
        <Reading key={ticket.id}>
          <Conversation {...view} ticket={ticket} />
        </Reading>
        <Composer {...view} {...live.value} change={change} reload={live.reload} />
      </div>
      <Side {...view} ticket={ticket} included={included} reload={live.reload} />
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

function useTicket({ api, me, ticket_id }: View & { ticket_id: string }) {
  /** A draft of a program, or of another page of the person. Whoever else looks at the ticket keeps theirs. */
  const isDraft = ({ type, ticket_id: of_ticket, by }: Told, { included }: Shown) =>
    type === 'draft' &&
    of_ticket === ticket_id &&
    !(by === me.id && [true, false].some((is_internal) => writingOf(api, ticket_id, is_internal).isFresh)) &&
    !included.viewing.some(({ user }) => user.id === by)
  return useLive<Shown>(
    ticket_id,
    (_before, signal) => readShown(api, ticket_id, signal),
    EVERY_MS,
    (told, shown) =>
      (shown !== undefined && (told.type === 'notices' || isDraft(told, shown))) || shownAfter(told, shown, me),
  )
}

/** Reads the tag of what is shown, of which an event has told. @throws Refusal when it is something else by now */
async function readTag(api: Api, { latest, reload }: ReturnType<typeof useTicket>): Promise<string> {
  const before = latest()!.ticket
  const { data, etag } = await api.get<TicketWithMessages>(`/tickets/${before.id}`)
  if (isSetAlike(before, data)) return etag!
  await reload()
  throw new Refusal(412, 'PRECONDITION_FAILED', t('ticket.changed_meanwhile'), {})
}

/** Names all that a change can set. A rating is the contact's. */
const SET: Record<Exclude<FieldName, 'rating'>, true> = {
  subject: true,
  status: true,
  priority: true,
  contact: true,
  company: true,
  assignee: true,
  team: true,
  mailbox: true,
  labels: true,
  parent: true,
  snoozed_until: true,
  external_id: true,
  custom: true,
}

/** Tells if both have the same of what a change can set. */
function isSetAlike(one: Ticket, other: Ticket): boolean {
  const names = Object.keys(SET) as (keyof typeof SET)[]
  return names.every((name) => JSON.stringify(one[name]) === JSON.stringify(other[name]))
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
