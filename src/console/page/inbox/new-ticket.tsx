/** Begins a conversation: a mail to anybody, a ticket that only the team sees, or messages that are forwarded. */
import type { Message } from '../../../desk/messages/model'
import type { TicketWithMessages } from '../../../desk/tickets/model'
import type { Api } from '../api'
import { EditForm } from '../forms/edit-form'
import { type Body, type Spec, valueAt, withoutEmpty } from '../forms/spec'
import { useNames } from '../names'
import { go, hrefOf } from '../route'
import { signIn } from '../sign-in'
import { Dialog } from '../ui/dialogs'
import { moment } from '../ui/measures'
import { tell } from '../ui/toasts'
import type { View } from '../view-types'
import { t } from '../words/catalogue'
import { sendingMailboxes } from './choices'
import { upload } from './uploads'

/** As many messages as one may quote. */
const MOST_QUOTED = 20
const MOST_OF_SUBJECT = 255
const SHOWN_CHARACTERS = 80

type Forwarded = {
  ticket: TicketWithMessages
  /** One of its messages; all of them unless given. */
  message?: Message
}

type Props = Pick<View, 'api' | 'me'> & {
  /** The address that it goes to, when it is known. */
  email?: string
  forwarded?: Forwarded
  onClose: () => void
}

/** Forms that were left, by what they are about: Escape loses nothing that was written. */
const left = new Map<string, Body>()

// The next person has none of them.
signIn.listen(() => {
  if (signIn.value.state === 'none') left.clear()
})

export function NewTicket({ api, me, email = '', forwarded, onClose }: Props) {
  const mailbox = useMailboxSpec(api)
  const about = [api.organization_id, email, forwarded?.ticket.id, forwarded?.message?.id].join()
  const title = t(forwarded ? 'forward.title' : 'begin.title')
  const end = () => {
    left.delete(about)
    onClose()
  }
  const leave = () => {
    onClose()
    if (left.has(about)) tell(t('begin.kept', { deed: title }))
  }
  const begin = async (body: Body) => {
    const { data } = await api.post<TicketWithMessages>('/tickets', {
      ...withoutEmpty(body),
      // Whoever writes to a customer has the ticket, as with an answer.
      ...(valueAt(body, 'message.send_email') === true && { assignee_id: me.id }),
      ...(forwarded && { parent_id: forwarded.ticket.id }),
    })
    end()
    go(hrefOf(api.organization_id, ['tickets', data.id]))
    const [first] = data.messages ?? []
    tell(t(first?.email_status === 'sent' ? 'begin.sent' : 'begin.made', { ticket: data.code }))
  }
  return (
    <Dialog title={title} onClose={leave}>
      <EditForm
        specs={[...addressSpecs(mailbox), ...textSpecs(api, forwarded)]}
        value={left.get(about) ?? beginning(email, forwarded)}
        submit={t(forwarded ? 'forward.submit' : 'begin.submit')}
        send={begin}
        onCancel={end}
        onBody={(body) => left.set(about, body)}
      />
    </Dialog>
  )
}

function beginning(email: string, forwarded: Forwarded | undefined): Body {
  return {
    contact: { email },
    mailbox_id: forwarded?.ticket.mailbox?.id ?? '',
    ...(forwarded ? ofForwarded(forwarded) : { subject: '', message: { body: '', send_email: true } }),
  }
}

function ofForwarded({ ticket, message }: Forwarded): Body {
  const quoted = message ? [message] : publicOf(ticket).slice(-MOST_QUOTED)
  return {
    subject: t('forward.subject', { subject: ticket.subject }).slice(0, MOST_OF_SUBJECT),
    message: { body: t('forward.text'), send_email: true, quote_message_ids: quoted.map(({ id }) => id) },
  }
}

/** Notes stay within the team. */
function publicOf({ messages }: TicketWithMessages): Message[] {
  return messages.filter(({ is_internal }) => !is_internal)
}

function addressSpecs(mailbox: Spec[]): Spec[] {
  return [
    { kind: 'email', name: 'contact.email', label: t('begin.to'), hint: t('begin.to_hint'), required: true, max: 254 },
    ...mailbox,
    { kind: 'text', name: 'subject', label: t('ticket.subject'), required: true, max: MOST_OF_SUBJECT },
  ]
}

/** The mailbox that it leaves from, where there are several. */
function useMailboxSpec(api: Api): Spec[] {
  const mailboxes = sendingMailboxes(useNames(api, 'mailboxes'))
  if (mailboxes.length < 2) return []
  const options = mailboxes.map(({ id, address }) => ({ value: id, text: address }))
  const usual = { value: '', text: t('composer.from_usual') }
  return [{ kind: 'choice', name: 'mailbox_id', label: t('composer.from'), options: [usual, ...options] }]
}

function textSpecs(api: Api, forwarded: Forwarded | undefined): Spec[] {
  const options = forwarded && choicesOf(forwarded)
  const quoted: Spec[] = options
    ? [{ kind: 'many', name: 'message.quote_message_ids', label: t('forward.which'), options, is_long: true }]
    : []
  return [
    { kind: 'area', name: 'message.body', label: t('begin.text'), required: true, max: 1_000_000, rows: 8 },
    ...quoted,
    { kind: 'files', name: 'message.attachment_ids', label: t('composer.attach'), upload: (file) => upload(api, file) },
    { kind: 'check', name: 'message.send_email', label: t('begin.by_email'), hint: t('begin.by_email_hint') },
  ]
}

function choicesOf({ ticket }: Forwarded) {
  return publicOf(ticket).map(({ id, sender, created_at, reply_text, body }) => ({
    value: id,
    text: `${sender.name}, ${moment(created_at)}: ${(reply_text || body).slice(0, SHOWN_CHARACTERS)}`,
    group: t('forward.which'),
  }))
}
