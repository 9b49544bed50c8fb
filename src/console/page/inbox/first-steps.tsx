/** Leads a new operator from nothing to an answered email; afterwards it lists the keys of the inbox. */
import { MessagesSquare } from 'lucide'
import { useState } from 'preact/hooks'
import type { Stats } from '../../../desk/stats/model'
import type { Ticket } from '../../../desk/tickets/model'
import type { InboundMessage } from '../../../mail/inbound-messages/model'
import type { Mailbox } from '../../../mail/mailboxes/model'
import { useLive } from '../live'
import { Edit } from '../operate/mailboxes'
import { hrefOf } from '../route'
import { Action, Button } from '../ui/buttons'
import { Dot } from '../ui/marks'
import { Empty } from '../ui/placeholders'
import { tell } from '../ui/toasts'
import { isAdmin, type View } from '../view-types'
import { t } from '../words/catalogue'

type Progress = { mailbox: Mailbox | undefined; ticket: Ticket | undefined; smtp: Stats['smtp'] }

export function FirstSteps(view: View) {
  const { api, organization } = view
  const is_admin = isAdmin(organization)
  const live = useLive<Progress>(`first steps ${api.organization_id}`, async (before, signal) => {
    // With a ticket there is nothing to lead to any more.
    if (before?.ticket || !is_admin) return before ?? { mailbox: undefined, ticket: undefined, smtp: null }
    const [mailboxes, tickets, stats] = await Promise.all([
      api.get<Mailbox[]>('/mailboxes?per_page=1', { signal }),
      api.get<Ticket[]>('/tickets?per_page=1', { signal }),
      api.get<Stats>('/stats', { signal }),
    ])
    return { mailbox: mailboxes.data[0], ticket: tickets.data[0], smtp: stats.data.smtp }
  })
  const progress = live.value
  return (
    <section class="welcome" aria-label="Welcome">
      {progress && is_admin && !progress.ticket && <Steps {...view} progress={progress} reload={live.reload} />}
      {progress && (progress.ticket || !is_admin) && <Choose />}
    </section>
  )
}

function Steps({ api, organization, progress, reload }: View & { progress: Progress; reload: () => Promise<void> }) {
  const { mailbox, smtp } = progress
  const [is_adding, setAdding] = useState(false)
  const command = mailbox && smtp ? commandFor(mailbox.address, smtp.port) : undefined
  const send = async () => {
    const content = `From: Carla <carla@customer.example>\r\nTo: ${mailbox!.address}\r\nSubject: The printer is on fire\r\n\r\nHelp!\r\n`
    const path = `/inbound-messages?mailbox_id=${mailbox!.id}`
    await api.post<InboundMessage>(path, undefined, { raw: { type: 'message/rfc822', content } })
    tell('The email has come in.')
    await reload()
  }
  return (
    <>
      <h1>Welcome to Deskwire</h1>
      <p>From here to the first answered email in four steps.</p>
      <ol class="steps">
        <li>
          <Dot kind="sent">done</Dot> Sign in.
        </li>
        <li>
          <Dot kind={mailbox ? 'sent' : 'queued'}>{mailbox ? 'done' : 'next'}</Dot> Add a mailbox: the address that your
          customers write to. {mailbox && <strong>{mailbox.address}</strong>}
          {!mailbox && <Button kind="main" text="Add a mailbox" onClick={() => setAdding(true)} />}
        </li>
        <li>
          <Dot kind={mailbox ? 'queued' : 'closed'}>{mailbox ? 'next' : 'later'}</Dot> Send an email to it. It shows up
          in the list by itself.
          {command && <pre>{command}</pre>}
          {mailbox && <Action run={send}>Send one from here</Action>}
        </li>
        <li>
          <Dot kind="closed">later</Dot> Open the ticket and answer. The answer leaves by the mailbox's server, which
          you set under <a href={hrefOf(organization.id, ['operate', 'mailboxes'])}>Mailboxes</a>.
        </li>
      </ol>
      {is_adding && <Edit api={api} mailbox={undefined} onClose={() => setAdding(false)} onSaved={reload} />}
    </>
  )
}

function commandFor(address: string, port: number): string {
  return [
    "printf 'From: Carla <carla@customer.example>\\r\\nSubject: The printer is on fire\\r\\n\\r\\nHelp!\\r\\n' |",
    `  curl smtp://${location.hostname}:${port} --mail-from carla@customer.example --mail-rcpt ${address} -T -`,
  ].join('\n')
}

function Choose() {
  return (
    <Empty icon={MessagesSquare} title={t('inbox.choose')}>
      <dl class="keys">
        {KEYS.map(([key, text]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{t(text)}</dd>
          </div>
        ))}
      </dl>
    </Empty>
  )
}

const KEYS = [
  ['j', 'inbox.next'],
  ['k', 'inbox.previous'],
  ['/', 'inbox.search'],
  ['Ctrl K', 'frame.palette'],
  ['?', 'frame.keys'],
] as const
