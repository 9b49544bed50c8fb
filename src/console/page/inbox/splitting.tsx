/** Opens a new ticket with messages of the one that is open: with one of them, or with all from it on. */
import type { Message } from '../../../desk/messages/model'
import type { Ticket } from '../../../desk/tickets/model'
import { go, hrefOf } from '../route'
import { Dialog } from '../ui/dialogs'
import { Field, Form } from '../ui/form-fields'
import { tell } from '../ui/toasts'
import type { View } from '../view-types'
import { t } from '../words/catalogue'

/** As many as the service moves in one request. */
const MOST = 100

type Props = View & { ticket: Ticket; message: Message; later: Message[]; onClose: () => void }

export function Split({ api, route, ticket, message, later, onClose }: Props) {
  const open = ({ id }: Ticket) => go(hrefOf(api.organization_id, ['tickets', id], route.query))
  const split = async (form: FormData) => {
    const messages = [message, ...(form.get('later') === 'on' ? later : [])].slice(0, MOST)
    const { data } = await api.post<Ticket>(`/tickets/${ticket.id}/split`, {
      message_ids: messages.map(({ id }) => id),
      subject: form.get('subject'),
    })
    onClose()
    open(data)
    tell(t('split.done', { count: messages.length, ticket: data.code }), async () => {
      await api.post<Ticket>(`/tickets/${ticket.id}/merge`, { source_ids: [data.id] })
      open(ticket)
    })
  }
  return (
    <Dialog title={t('split.title')} onClose={onClose}>
      <p>{t('split.means', { ticket: ticket.code })}</p>
      <Form submit={t('split.open')} onCancel={onClose} send={split}>
        <Field label={t('ticket.subject')} name="subject" required maxLength={255} value={ticket.subject} />
        {later.length > 0 && (
          <label class="check">
            <input type="checkbox" name="later" /> {t('split.later', { count: later.length })}
          </label>
        )}
      </Form>
    </Dialog>
  )
}
