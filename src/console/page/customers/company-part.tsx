/** The company of the customer beside the ticket. */
import { useState } from 'preact/hooks'
import type { CompanyWithDetails } from '../../../desk/companies/model'
import { CustomList } from '../forms/custom-fields'
import { useLive } from '../live'
import { hrefOf } from '../route'
import { Waiting } from '../ui/placeholders'
import type { View } from '../view-types'
import { t } from '../words/catalogue'

const SELDOM_MS = 300_000

/** The rest of a company is read when it is opened. */
export function CompanyPart({ api, id, name }: Pick<View, 'api'> & { id: string; name: string }) {
  const [is_open, setOpen] = useState(false)
  return (
    <details class="company" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary dir="auto">{name}</summary>
      {is_open && <CompanyFacts api={api} id={id} />}
    </details>
  )
}

function CompanyFacts({ api, id }: Pick<View, 'api'> & { id: string }) {
  const live = useLive<CompanyWithDetails>(
    `company of ticket ${id}`,
    async (_before, signal) => (await api.get<CompanyWithDetails>(`/companies/${id}`, { signal })).data,
    SELDOM_MS,
    ({ ids }) => ids.includes(id),
  )
  if (!live.value) return <Waiting error={live.error} />
  const { domains, contact_count, total_tickets, custom, notes } = live.value
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
      <p>
        <a href={hrefOf(api.organization_id, ['companies', id])}>{t('customer.company_page')}</a>
      </p>
    </>
  )
}
