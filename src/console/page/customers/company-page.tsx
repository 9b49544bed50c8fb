/** One company: what is known of it, its contacts and tickets, and its time. */
import { useState } from 'preact/hooks'
import type { CompanyWithDetails } from '../../../desk/companies/model'
import type { Contact } from '../../../desk/contacts/model'
import { CustomList } from '../forms/custom-fields'
import { Doom } from '../forms/doom'
import { useRows } from '../lists'
import { useLive } from '../live'
import { go, hrefOf } from '../route'
import { Table } from '../rows'
import { Action, Button } from '../ui/buttons'
import { duration } from '../ui/measures'
import { Waiting } from '../ui/placeholders'
import { tell } from '../ui/toasts'
import type { View } from '../view-types'
import { t } from '../words/catalogue'
import { money } from './amounts'
import { CompanyForm } from './company-form'
import { Notes } from './notes'
import { TicketsOf } from './tickets-of'

type Shown = { company: CompanyWithDetails; etag: string | null }

export function CompanyPage(view: View & { id: string }) {
  const { api, id } = view
  const live = useLive<Shown>(
    `company ${id}`,
    async (_before, signal) => {
      const { data, etag } = await api.get<CompanyWithDetails>(`/companies/${id}`, { signal })
      return { company: data, etag }
    },
    undefined,
    ({ type, ids }) => ids.includes(id) || type.startsWith('contact.'),
  )
  return (
    <section class="page" aria-label={t('company.one')}>
      <p>
        <a href={hrefOf(api.organization_id, ['companies'])}>{t('companies.all')}</a>
      </p>
      {live.value ? <Known {...view} {...live.value} reload={live.reload} /> : <Waiting error={live.error} />}
    </section>
  )
}

function Known({ api, company, etag, reload }: View & Shown & { reload: () => Promise<void> }) {
  const [open, setOpen] = useState<'edit' | 'delete'>()
  const { id, name } = company
  const link = async () => {
    const { data } = await api.post<{ linked: number }>(`/companies/${id}/link-contacts`)
    tell(t('company.linked', { count: data.linked }))
    await reload()
  }
  return (
    <>
      <div class="page-head">
        <h1 dir="auto">{name}</h1>
        <span class="grow" />
        <Button kind="main" text={t('act.edit')} onClick={() => setOpen('edit')} />
        <Action run={link} disabled={company.domains.length === 0}>
          {t('company.link')}
        </Action>
        <Button text={t('act.delete')} onClick={() => setOpen('delete')} />
      </div>
      <div class="page-columns">
        <Facts api={api} company={company} />
        <div>
          <ContactsOf api={api} id={id} total={company.contact_count} />
          <TicketsOf api={api} filter={{ company_id: id }} total={company.total_tickets} />
        </div>
      </div>
      {open === 'edit' && (
        <CompanyForm
          api={api}
          company={company}
          etag={etag}
          onClose={() => setOpen(undefined)}
          onSaved={() => void reload()}
        />
      )}
      {open === 'delete' && (
        <Doom
          title={t('doom.delete', { name })}
          answer={t('act.delete')}
          onClose={() => setOpen(undefined)}
          run={async () => {
            await api.delete(`/companies/${id}`)
            tell(t('done.deleted', { name }))
            go(hrefOf(api.organization_id, ['companies']))
          }}
        >
          {t('company.delete_means')}
        </Doom>
      )}
    </>
  )
}

function Facts({ api, company }: Pick<View, 'api'> & { company: CompanyWithDetails }) {
  const { id, domains, hourly_rate, currency, ticket_prefix, external_id, custom, notes, total_time_minutes } = company
  const facts = [
    [t('company.domains'), domains.join(', ')],
    [t('field.hourly_rate'), hourly_rate === null ? t('company.rate_none') : money(hourly_rate, currency)],
    [t('field.ticket_prefix'), ticket_prefix],
    [t('field.external_id'), external_id],
  ]
  return (
    <div class="card">
      <dl class="facts">
        {facts.map(
          ([name, value]) =>
            value && (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ),
        )}
        <CustomList custom={custom} />
        <div>
          <dt>{t('time.title')}</dt>
          <dd>
            <a href={hrefOf(api.organization_id, ['time'], new URLSearchParams({ company_id: id }))}>
              {duration(total_time_minutes)}
            </a>
          </dd>
        </div>
      </dl>
      <Notes text={notes} />
    </div>
  )
}

function ContactsOf({ api, id, total }: Pick<View, 'api'> & { id: string; total: number }) {
  const list = useRows<Contact>(api, '/contacts', { company_id: id }, ({ type }) => type.startsWith('contact.'))
  return (
    <section class="card" aria-label={t('contacts.title')}>
      <h2>
        {t('contacts.title')} <span class="count">{total}</span>
      </h2>
      <Table
        list={list}
        caption={t('contacts.title')}
        head={[t('field.name'), t('field.email'), t('field.tickets')]}
        empty={t('company.no_contacts')}
        row={(one) => (
          <>
            <td dir="auto">
              <a href={hrefOf(api.organization_id, ['contacts', one.id])}>{one.name}</a>
            </td>
            <td class="wide">{one.email}</td>
            <td class="number">{one.ticket_count}</td>
          </>
        )}
      />
    </section>
  )
}
