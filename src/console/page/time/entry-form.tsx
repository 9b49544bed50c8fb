/** The form of a time entry: on a ticket that is looked for, or one that is known. */
import type { TimeEntry } from '../../../desk/time-entries/model'
import type { User } from '../../../people/users/model'
import { findTickets } from '../customers/find'
import { EditForm } from '../forms/edit-form'
import { type Body, type Spec, withoutEmpty } from '../forms/spec'
import { Dialog } from '../ui/dialogs'
import { tell } from '../ui/toasts'
import { isAdmin, type View } from '../view-types'
import { t } from '../words/catalogue'

type Props = View & { users: User[]; entry: TimeEntry | undefined; onClose: () => void; onSaved: () => Promise<void> }

export function EntryForm(view: Props) {
  const { api, me, entry, onClose, onSaved } = view
  const save = async (body: Body, changes: Body) => {
    const { ticket_id, ...work } = withoutEmpty(body)
    if (entry) await api.patch(`/time-entries/${entry.id}`, changes)
    else await api.post(`/tickets/${ticket_id}/time-entries`, work)
    onClose()
    tell(t('time.saved'))
    await onSaved()
  }
  return (
    <Dialog title={entry ? t('time.edit_of', { code: entry.ticket.code }) : t('time.log')} onClose={onClose}>
      <EditForm
        specs={specsOf(view)}
        value={entry ?? { billable: true, user_id: me.id, date: today() }}
        submit={t('act.save')}
        send={save}
        onCancel={onClose}
      />
    </Dialog>
  )
}

/** The day here, such as `2026-01-31`. */
function today(): string {
  const now = new Date()
  return new Date(now.getTime() - now.getTimezoneOffset() * 60_000).toISOString().slice(0, 10)
}

function specsOf({ api, organization, users, entry }: Props): Spec[] {
  const members = users.filter(({ active }) => active).map(({ id, name }) => ({ value: id, text: name }))
  const new_ones: Spec[] = [
    { kind: 'pick', name: 'ticket_id', label: t('field.ticket'), required: true, find: findTickets(api) },
  ]
  const for_admins: Spec[] = [{ kind: 'choice', name: 'user_id', label: t('time.who'), options: members }]
  return [
    ...(entry ? [] : new_ones),
    ...(!entry && isAdmin(organization) ? for_admins : []),
    { kind: 'number', name: 'duration_minutes', label: t('time.minutes'), min: 1, max: 525_600, required: true },
    { kind: 'date', name: 'date', label: t('time.day') },
    { kind: 'area', name: 'description', label: t('time.what'), max: 10_000, rows: 2 },
    { kind: 'check', name: 'billable', label: t('time.billable') },
    { kind: 'number', name: 'rate', label: t('field.hourly_rate'), hint: t('time.rate_hint'), min: 0, step: 'any' },
  ]
}
