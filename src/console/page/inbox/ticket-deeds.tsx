/** The deeds on a ticket besides its properties: in the menu of its head, by key, and in the palette. */
import { Ban, Ellipsis, Forward, GitMerge, Mail, Pencil, ThumbsUp, Trash2 } from 'lucide'
import { useState } from 'preact/hooks'
import type { TicketWithMessages } from '../../../desk/tickets/model'
import type { SenderRule } from '../../../mail/sender-rules/model'
import { type Act, useActs } from '../acts'
import type { Api } from '../api'
import { learn } from '../events'
import { go, hrefOf } from '../route'
import { Dialog, Question } from '../ui/dialogs'
import { Field, Form } from '../ui/form-fields'
import { Icon } from '../ui/icons'
import { Menu } from '../ui/menus'
import { tell } from '../ui/toasts'
import { type Change, isAdmin, type View } from '../view-types'
import { t } from '../words/catalogue'
import { Merge } from './merge'
import { nextAfter } from './neighbours'
import { NewTicket } from './new-ticket-later'
import { keepUnread } from './read-mark'

type Props = View & { ticket: TicketWithMessages; change: Change }

export function Deeds(props: Props) {
  const { api, ticket } = props
  const [open, setOpen] = useState<'subject' | 'forward' | 'merge' | 'block' | 'delete'>()
  const close = () => setOpen(undefined)
  const sender = senderOf(ticket)
  const deeds: Act[] = [
    { text: t('forward.title'), icon: Forward, keys: 'f', run: () => setOpen('forward') },
    { text: t('ticket.mark_unread'), icon: Mail, keys: 'U', run: () => keepUnread(api, ticket) },
    { text: t('ticket.edit_subject'), icon: Pencil, run: () => setOpen('subject') },
    ...(mayAsk(ticket) ? [{ text: t('rating.ask'), icon: ThumbsUp, run: askForRating(api, ticket) }] : []),
    { text: t('merge.into', { ticket: ticket.code }), icon: GitMerge, run: () => setOpen('merge') },
    ...(sender ? [{ text: t('sender.block_what', { sender }), icon: Ban, run: () => setOpen('block') }] : []),
    { text: t('ticket.delete'), icon: Trash2, keys: '#', run: () => setOpen('delete') },
  ]
  useActs(deeds, t('ticket.ticket'))
  return (
    <>
      <Menu
        label={t('ticket.more')}
        button={<Icon of={Ellipsis} />}
        items={deeds.map(({ keys, ...deed }) => ({ ...deed, ...(keys && { key: keys }) }))}
      />
      {open === 'forward' && <NewTicket {...props} forwarded={{ ticket }} onClose={close} />}
      {open === 'subject' && <Subject {...props} onClose={close} />}
      {open === 'merge' && <Merge {...props} onClose={close} />}
      {open === 'block' && <Block {...props} sender={sender!} onClose={close} />}
      {open === 'delete' && <Delete {...props} onClose={close} />}
    </>
  )
}

/** True when the contact has not rated the ticket, and the team is done with it. The service knows who was asked. */
function mayAsk({ status, contact, rating }: TicketWithMessages): boolean {
  return contact !== null && rating === null && (status === 'resolved' || status === 'closed')
}

function askForRating(api: Api, { id, contact }: TicketWithMessages) {
  return async () => {
    await api.post(`/tickets/${id}/rating-request`)
    tell(t('rating.asked', { name: contact!.name }))
  }
}

/** The address that wrote last of the customer's side. */
function senderOf({ messages, contact }: TicketWithMessages): string | undefined {
  return messages.findLast(({ direction }) => direction === 'inbound')?.sender.email ?? contact?.email
}

function Subject({ ticket, change, onClose }: Props & { onClose: () => void }) {
  return (
    <Dialog title={t('ticket.edit_subject')} onClose={onClose}>
      <Form
        submit={t('ticket.save')}
        onCancel={onClose}
        send={async (form) => {
          if (await change({ subject: String(form.get('subject')) })) onClose()
        }}
      >
        <Field label={t('ticket.subject')} name="subject" required maxLength={255} value={ticket.subject} />
      </Form>
    </Dialog>
  )
}

/** Holds the mail of a sender from now on. Admins alone remove a rule. */
function Block({ api, organization, sender, onClose }: Props & { sender: string; onClose: () => void }) {
  const block = async () => {
    const { data, status } = await api.post<SenderRule>('/sender-rules', { sender, action: 'block' })
    const undo = () => api.delete(`/sender-rules/${data.id}`)
    onClose()
    tell(t('sender.is_blocked', { sender }), isAdmin(organization) && status === 201 ? undo : {})
  }
  return (
    <Question title={t('sender.block_what', { sender })} answer={t('sender.block_this')} run={block} onClose={onClose}>
      {t('sender.block_means')}
    </Question>
  )
}

/** Deletes the ticket, and goes on to the next one. */
function Delete({ api, route, ticket, onClose }: Props & { onClose: () => void }) {
  const { id, code } = ticket
  const run = async () => {
    await api.delete(`/tickets/${id}`)
    onClose()
    const next = nextAfter(id)
    go(hrefOf(api.organization_id, next ? ['tickets', next.id] : ['tickets'], route.query))
    learn('ticket.deleted', ticket)
    tell(t('done.deleted', { name: code }))
  }
  return (
    <Question title={t('doom.delete', { name: code })} answer={t('ticket.delete')} run={run} onClose={onClose}>
      {t('ticket.delete_means')}
    </Question>
  )
}
