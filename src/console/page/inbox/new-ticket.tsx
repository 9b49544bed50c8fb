/** Begins a conversation: a mail to anybody, or a ticket that only the team sees. */
import type { TicketWithMessages } from '../../../desk/tickets/model'
import { EditForm } from '../forms/edit-form'
import type { Body, Spec } from '../forms/spec'
import { go, hrefOf } from '../route'
import { Dialog } from '../ui/dialogs'
import { tell } from '../ui/toasts'
import type { View } from '../view-types'
import { t } from '../words/catalogue'

type Props = Pick<View, 'api'> & {
  /** The address that it goes to, when it is known. */
  email?: string
  onClose: () => void
}

export function NewTicket({ api, email, onClose }: Props) {
  const begin = async (body: Body) => {
    const { data } = await api.post<TicketWithMessages>('/tickets', body)
    onClose()
    go(hrefOf(api.organization_id, ['tickets', data.id]))
    const [first] = data.messages ?? []
    tell(t(first?.email_status === 'sent' ? 'begin.sent' : 'begin.made', { ticket: data.code }))
  }
  const specs: Spec[] = [
    { kind: 'email', name: 'contact.email', label: t('begin.to'), hint: t('begin.to_hint'), required: true, max: 254 },
    { kind: 'text', name: 'subject', label: t('ticket.subject'), required: true, max: 255 },
    { kind: 'area', name: 'message.body', label: t('begin.text'), required: true, max: 1_000_000, rows: 8 },
    { kind: 'check', name: 'message.send_email', label: t('begin.by_email'), hint: t('begin.by_email_hint') },
  ]
  return (
    <Dialog title={t('begin.title')} onClose={onClose}>
      <EditForm
        specs={specs}
        value={{ contact: { email: email ?? '' }, subject: '', message: { body: '', send_email: true } }}
        submit={t('begin.submit')}
        send={begin}
        onCancel={onClose}
      />
    </Dialog>
  )
}
