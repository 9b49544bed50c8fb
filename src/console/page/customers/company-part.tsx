/** The company of the customer beside the ticket. */
import type { CompanyWithDetails } from '../../../desk/companies/model'
import { CustomList } from '../forms/custom-fields'
import { hrefOf } from '../route'
import type { View } from '../view-types'
import { t } from '../words/catalogue'

export function CompanyPart({ api, company }: Pick<View, 'api'> & { company: CompanyWithDetails }) {
  const { id, name, domains, contact_count, total_tickets, custom, notes } = company
  return (
    <details class="company">
      <summary dir="auto">{name}</summary>
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
    </details>
  )
}
