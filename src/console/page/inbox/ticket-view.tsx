/** One ticket: its properties, the conversation, and what belongs to it. */
import { useState } from 'preact/hooks'
import type { Ticket, TicketWithMessages } from '../../../desk/tickets/model'
import { type Answer, Refusal } from '../api'
import { EVERY_MS, useLive } from '../live'
import { hrefOf } from '../route'
import { attempt, Button, Choice, Dialog, Field, Form, Time, tell, Waiting } from '../ui'
import type { Change, Names, View } from '../view-types'
import { Composer } from './composer'
import { Labels } from './labels'
import { Merge, Merged } from './merge'
import { Conversation } from './message-list'
import { Side } from './side'

/** What is shown, and its tag: a change that was made on an older state is refused. */
type Shown = { ticket: TicketWithMessages; etag: string | null }

/** From which status a ticket may get to which. */
const NEXT = {
  open: ['open', 'pending', 'resolved', 'closed'],
  pending: ['pending', 'open', 'resolved', 'closed'],
  resolved: ['resolved', 'open', 'closed'],
  closed: ['closed', 'open'],
}
const PRIORITIES = ['low', 'normal', 'high', 'urgent']

export function TicketView(view: View & { ticket_id: string; names: Names }) {
  const { api, route, ticket_id, names } = view
  const live = useLive<Shown>(
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
  const back = hrefOf(api.organization_id, ['tickets'], route.query)
  if (!live.value) {
    return (
      <section class="ticket" aria-label="Ticket">
        <Back href={back} />
        <Waiting error={live.error} />
      </section>
    )
  }
  const { ticket } = live.value
  const change: Change = async (changes) => {
    const done = await attempt(() =>
      patch(() => api.patch<Ticket>(`/tickets/${ticket.id}`, changes, { 'if-match': live.latest()!.etag! })),
    )
    await live.reload()
    return done !== undefined
  }
  if (ticket.merged_into) {
    return (
      <section class="ticket" aria-label={`Ticket ${ticket.code}`}>
        <Back href={back} />
        <h1>{ticket.subject}</h1>
        <Merged {...view} ticket={ticket} reload={live.reload} />
      </section>
    )
  }
  return (
    <section class="ticket" aria-label={`Ticket ${ticket.code}`}>
      <Back href={back} />
      <Head {...view} ticket={ticket} change={change} />
      <Properties {...view} ticket={ticket} names={names} change={change} />
      {live.error && <Waiting error={live.error} />}
      <div class="columns">
        <div class="talk">
          <Conversation {...view} ticket={ticket} reload={live.reload} />
          <Composer {...view} ticket={ticket} change={change} reload={live.reload} />
        </div>
        <Side {...view} ticket={ticket} reload={live.reload} />
      </div>
    </section>
  )
}

function Back({ href }: { href: string }) {
  return (
    <a class="back" href={href}>
      Back to the list
    </a>
  )
}

/** Says in words that somebody else was faster. */
async function patch(send: () => Promise<Answer<Ticket>>): Promise<Answer<Ticket>> {
  try {
    return await send()
  } catch (error) {
    if (!(error instanceof Refusal) || error.status !== 412) throw error
    throw new Refusal(412, error.code, 'The ticket has changed meanwhile: look at it, then try again.', {})
  }
}

function Head({ ticket, change, ...view }: View & { ticket: TicketWithMessages; change: Change }) {
  const [is_editing, setEditing] = useState(false)
  const { code, subject, created_at, contact, company } = ticket
  return (
    <div class="head">
      <h1>{subject}</h1>
      <p class="line">
        <span class="code">{code}</span>
        <span>
          {contact ? `${contact.name} <${contact.email}>` : 'The contact was deleted'}
          {company && `, ${company.name}`}
        </span>
        <Time at={created_at} />
        <Button text="Edit the subject" onClick={() => setEditing(true)} />
        <Merge {...view} ticket={ticket} />
      </p>
      {is_editing && (
        <Dialog title="Edit the subject" onClose={() => setEditing(false)}>
          <Form
            submit="Save"
            onCancel={() => setEditing(false)}
            send={async (form) => {
              if (await change({ subject: String(form.get('subject')) })) setEditing(false)
            }}
          >
            <Field label="Subject" name="subject" required maxLength={255} value={subject} />
          </Form>
        </Dialog>
      )}
    </div>
  )
}

function Properties({
  api,
  me,
  ticket,
  names,
  change,
}: View & { ticket: TicketWithMessages; names: Names; change: Change }) {
  const { status, priority, assignee } = ticket
  const people = names.users.filter(({ active }) => active)
  const others = assignee && !people.some(({ id }) => id === assignee.id) ? [assignee] : []
  const assign = async (id: string) => {
    const name = id ? people.find((one) => one.id === id)?.name : 'nobody'
    if (await change({ assignee_id: id || null })) tell(`Assigned to ${name}.`)
  }
  return (
    <div class="properties">
      <Choice
        label="Status"
        value={status}
        options={NEXT[status].map((value) => ({ value, text: value }))}
        onChoose={async (value) => {
          if (await change({ status: value as Ticket['status'] })) tell(`The ticket is ${value}.`)
        }}
      />
      <Choice
        label="Priority"
        value={priority}
        options={PRIORITIES.map((value) => ({ value, text: value }))}
        onChoose={(value) => void change({ priority: value as Ticket['priority'] })}
      />
      <Choice
        label="Assignee"
        value={assignee?.id ?? ''}
        options={[
          { value: '', text: 'Nobody' },
          ...[...people, ...others].map(({ id, name }) => ({ value: id, text: id === me.id ? `${name} (you)` : name })),
        ]}
        onChoose={(id) => void assign(id)}
      />
      <Labels api={api} ticket={ticket} names={names} change={change} />
    </div>
  )
}
