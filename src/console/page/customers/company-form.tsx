/** The form of a company, new or known. */
import type { Company, CompanyWithDetails } from '../../../desk/companies/model'
import type { Api } from '../api'
import { EditForm } from '../forms/edit-form'
import { type Body, type Spec, withoutEmpty } from '../forms/spec'
import { Dialog } from '../ui/dialogs'
import { tell } from '../ui/toasts'
import { t } from '../words/catalogue'

type Props = {
  api: Api
  company?: Company
  etag?: string | null
  onClose: () => void
  onSaved: (company: CompanyWithDetails) => void
}

export function CompanyForm({ api, company, etag, onClose, onSaved }: Props) {
  const save = async (body: Body, changes: Body) => {
    const { data } = company
      ? await api.patch<CompanyWithDetails>(
          `/companies/${company.id}`,
          changes,
          etag ? { 'if-match': etag } : undefined,
        )
      : await api.post<CompanyWithDetails>('/companies', withoutEmpty(body))
    tell(t('company.saved', { name: data.name }))
    onSaved(data)
    onClose()
  }
  return (
    <Dialog title={company ? t('company.edit', { name: company.name }) : t('company.new')} onClose={onClose}>
      <EditForm specs={specs()} value={company} submit={t('act.save')} send={save} onCancel={onClose} />
    </Dialog>
  )
}

function specs(): Spec[] {
  return [
    { kind: 'text', name: 'name', label: t('field.name'), max: 255, required: true },
    { kind: 'lines', name: 'domains', label: t('company.domains'), hint: t('company.domains_hint'), rows: 2 },
    {
      kind: 'number',
      name: 'hourly_rate',
      label: t('field.hourly_rate'),
      hint: t('company.rate_hint'),
      min: 0,
      step: 'any',
    },
    { kind: 'text', name: 'currency', label: t('field.currency'), hint: t('field.currency_hint'), max: 3 },
    { kind: 'text', name: 'ticket_prefix', label: t('field.ticket_prefix'), hint: t('company.prefix_hint'), max: 10 },
    { kind: 'text', name: 'external_id', label: t('field.external_id'), hint: t('field.external_id_hint'), max: 255 },
    { kind: 'area', name: 'notes', label: t('field.notes'), hint: t('field.notes_hint'), max: 10_000 },
    { kind: 'custom', name: 'custom', label: t('field.custom'), hint: t('field.custom_hint') },
  ]
}
