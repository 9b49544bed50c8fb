/** The company of the ticket beside it. The name is known; the rest is read once somebody wants to see it. */
import { useState } from 'preact/hooks'
import type { CompanyWithDetails } from '../../../desk/companies/model'
import type { Ticket } from '../../../desk/tickets/model'
import { CustomList } from '../forms/custom-fields'
import { RARELY_MS, useLive } from '../live'
import { hrefOf } from '../route'
import { Waiting } from '../ui/placeholders'
import type { View } from '../view-types'
import { t } from '../words/catalogue'

type Props = Pick<View, 'api'> & { company: NonNullable<Ticket['company']> }

export function CompanyPart({ api, company }: Props) {
  const [is_open, setOpen] = useState(false)
  return (
    <details class="company" onToggle={(event) => setOpen((event.target as HTMLDetailsElement).open)}>
      <summary dir="auto">{company.name}</summary>
      {is_open && <CompanyFacts api={api} company={company} />}
      <p>
        <a href={hrefOf(api.organization_id, ['companies', company.id])}>{t('customer.company_page')}</a>
      </p>
    </details>
  )
}

function CompanyFacts({ api, company: { id } }: Props) {
  const { value, error } = useLive<CompanyWithDetails>(
    `company ${id}`,
    async (_before, signal) => (await api.get<CompanyWithDetails>(`/companies/${id}`, { signal })).data,
    RARELY_MS,
  )
  if (!value) return <Waiting error={error} lines={3} />
  const { domains, contact_count, total_tickets, custom, notes } = value
  return (
    <>
      <dl class="facts">
        {domains.length > 0 && (
          <div>
            <dt>{t('company.domains')}</dt>
            <dd>{domains.join(', ')}</dd>
          </div>
        )}
        <div>
          <dt>{t('contacts.title')}</dt>
          <dd>{contact_count}</dd>
        </div>
        <div>
          <dt>{t('field.tickets')}</dt>
          <dd>{total_tickets}</dd>
        </div>
        <CustomList custom={custom} />
      </dl>
      {notes && (
        <p class="words notes" dir="auto">
          {notes}
        </p>
      )}
    </>
  )
}
