/** Companies: the list, and one of them. */
import { useState } from 'preact/hooks'
import type { Company } from '../../../desk/companies/model'
import { Filters, filterOf } from '../forms/filters'
import type { Spec } from '../forms/spec'
import { useRows } from '../lists'
import { go, hrefOf } from '../route'
import { Table } from '../rows'
import { Button } from '../ui/buttons'
import type { View } from '../view-types'
import { t } from '../words/catalogue'
import { money } from './amounts'
import { CompanyForm } from './company-form'
import { CompanyPage } from './company-page'

export function Companies(view: View) {
  const id = view.route.path[1]
  return id ? <CompanyPage key={id} {...view} id={id} /> : <CompanyList {...view} />
}

function CompanyList(view: View) {
  const { api, route } = view
  const [is_making, setMaking] = useState(false)
  const specs: Spec[] = [
    { kind: 'text', name: 'search', label: t('companies.search'), placeholder: t('companies.search_hint') },
    { kind: 'text', name: 'external_id', label: t('field.external_id') },
  ]
  const filter = filterOf(route.query, specs)
  const list = useRows<Company, { next_cursor: string | null; total?: number }>(
    api,
    '/companies',
    filter,
    ({ type }) => type.startsWith('company.') || type.startsWith('contact.'),
  )
  return (
    <section class="page" aria-label={t('companies.title')}>
      <div class="page-head">
        <h1>{t('companies.title')}</h1>
        {list.meta?.total !== undefined && <span class="count">{t('list.total', { count: list.meta.total })}</span>}
        <span class="grow" />
        <Button kind="main" text={t('company.new')} onClick={() => setMaking(true)} />
      </div>
      <Filters {...view} specs={specs} label={t('companies.filter')} />
      <Table
        list={list}
        caption={t('companies.title')}
        head={[t('field.name'), t('company.domains'), t('contacts.title'), t('field.tickets'), t('field.hourly_rate')]}
        empty={Object.keys(filter).length > 0 ? t('list.none_found') : t('companies.empty')}
        row={(one) => (
          <>
            <td dir="auto">
              <a href={hrefOf(api.organization_id, ['companies', one.id])}>{one.name}</a>
            </td>
            <td class="wide">{one.domains.join(', ')}</td>
            <td class="number">{one.contact_count}</td>
            <td class="number">{one.ticket_count}</td>
            <td class="number">{one.hourly_rate !== null && money(one.hourly_rate, one.currency)}</td>
          </>
        )}
      />
      {is_making && (
        <CompanyForm
          api={api}
          onClose={() => setMaking(false)}
          onSaved={({ id }) => go(hrefOf(api.organization_id, ['companies', id]))}
        />
      )}
    </section>
  )
}
