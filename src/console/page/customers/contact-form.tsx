/** The form of a contact, new or known. */
import type { Contact, ContactWithTickets } from '../../../desk/contacts/model'
import type { Api } from '../api'
import { EditForm } from '../forms/edit-form'
import { type Body, type Spec, withoutEmpty } from '../forms/spec'
import { Dialog } from '../ui/dialogs'
import { tell } from '../ui/toasts'
import { t } from '../words/catalogue'
import { findCompanies } from './find'

type Props = {
  api: Api
  contact?: Contact
  /** The tag of the contact as it was read: a change of somebody else meanwhile is not overwritten. */
  etag?: string | null
  onClose: () => void
  onSaved: (contact: ContactWithTickets) => void
}

export function ContactForm({ api, contact, etag, onClose, onSaved }: Props) {
  const save = async (body: Body, changes: Body) => {
    const { data } = contact
      ? await api.patch<ContactWithTickets>(`/contacts/${contact.id}`, changes, etag ? { 'if-match': etag } : undefined)
      : await api.post<ContactWithTickets>('/contacts', asNew(body))
    tell(t('contact.saved', { name: data.name }))
    onSaved(data)
    onClose()
  }
  return (
    <Dialog title={contact ? t('contact.edit', { name: contact.name }) : t('contact.new')} onClose={onClose}>
      <EditForm
        specs={specsOf(api, contact)}
        value={contact && { ...contact, company_id: contact.company?.id ?? null }}
        submit={t('act.save')}
        send={save}
        onCancel={onClose}
      />
    </Dialog>
  )
}

/** The first address is the primary one. A company that nobody names is found by the domain. */
function asNew({ emails, ...body }: Body): Body {
  const [email, ...others] = emails as string[]
  return { ...withoutEmpty(body), email: email ?? '', ...(others.length > 0 && { emails: others }) }
}

function specsOf(api: Api, contact: Contact | undefined): Spec[] {
  const shown = contact?.company && { value: contact.company.id, text: contact.company.name }
  return [
    { kind: 'text', name: 'name', label: t('field.name'), max: 255, required: true },
    {
      kind: 'lines',
      name: 'emails',
      stands_for: 'email',
      label: t('contact.emails'),
      hint: t('contact.emails_hint'),
      rows: 2,
      required: true,
    },
    { kind: 'text', name: 'phone', label: t('field.phone'), max: 64 },
    {
      kind: 'pick',
      name: 'company_id',
      label: t('field.company'),
      hint: contact ? undefined : t('contact.company_hint'),
      find: findCompanies(api),
      shown: shown ?? undefined,
    },
    { kind: 'text', name: 'external_id', label: t('field.external_id'), hint: t('field.external_id_hint'), max: 255 },
    { kind: 'area', name: 'notes', label: t('field.notes'), hint: t('field.notes_hint'), max: 10_000 },
    { kind: 'custom', name: 'custom', label: t('field.custom'), hint: t('field.custom_hint') },
  ]
}
