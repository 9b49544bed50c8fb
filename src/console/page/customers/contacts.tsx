/** Contacts: the list with its search, and one of them. */
import { useState } from 'preact/hooks'
import type { Contact } from '../../../desk/contacts/model'
import { Filters, filterOf } from '../forms/filters'
import type { Spec } from '../forms/spec'
import { useRows } from '../lists'
import { go, hrefOf } from '../route'
import { Table } from '../rows'
import { Avatar } from '../ui/avatars'
import { Button } from '../ui/buttons'
import { Time } from '../ui/measures'
import type { View } from '../view-types'
import { t } from '../words/catalogue'
import { ContactForm } from './contact-form'
import { ContactPage } from './contact-page'
import { findCompanies } from './find'

export function Contacts(view: View) {
  const id = view.route.path[1]
  return id ? <ContactPage key={id} {...view} id={id} /> : <ContactList {...view} />
}

function ContactList(view: View) {
  const { api, route } = view
  const [is_making, setMaking] = useState(false)
  const specs = filterSpecs(view)
  const filter = filterOf(route.query, specs)
  const list = useRows<Contact, { next_cursor: string | null; total?: number }>(api, '/contacts', filter, ({ type }) =>
    type.startsWith('contact.'),
  )
  return (
    <section class="page" aria-label={t('contacts.title')}>
      <div class="page-head">
        <h1>{t('contacts.title')}</h1>
        {list.meta?.total !== undefined && <span class="count">{t('list.total', { count: list.meta.total })}</span>}
        <span class="grow" />
        <Button kind="main" text={t('contact.new')} onClick={() => setMaking(true)} />
      </div>
      <Filters {...view} specs={specs} label={t('contacts.filter')} />
      <Table
        list={list}
        caption={t('contacts.title')}
        head={[t('field.name'), t('field.email'), t('field.company'), t('field.tickets'), t('field.changed')]}
        empty={Object.keys(filter).length > 0 ? t('list.none_found') : t('contacts.empty')}
        row={(one) => <Cells api={api} one={one} />}
      />
      {is_making && (
        <ContactForm
          api={api}
          onClose={() => setMaking(false)}
          onSaved={({ id }) => go(hrefOf(api.organization_id, ['contacts', id]))}
        />
      )}
    </section>
  )
}

function filterSpecs({ api }: View): Spec[] {
  return [
    { kind: 'text', name: 'search', label: t('contacts.search'), placeholder: t('contacts.search_hint') },
    { kind: 'pick', name: 'company_id', label: t('field.company'), find: findCompanies(api) },
    { kind: 'text', name: 'external_id', label: t('field.external_id') },
    {
      kind: 'choice',
      name: 'sort',
      label: t('list.sort'),
      options: [
        { value: '', text: t('sort.newest') },
        { value: 'name', text: t('sort.name') },
        { value: '-updated_at', text: t('sort.changed') },
      ],
    },
  ]
}

function Cells({ api, one }: Pick<View, 'api'> & { one: Contact }) {
  return (
    <>
      <td class="with-avatar">
        <Avatar name={one.name} is_small />
        <a href={hrefOf(api.organization_id, ['contacts', one.id])}>
          <bdi>{one.name}</bdi>
        </a>
      </td>
      <td class="wide">
        {one.email}
        {one.emails.length > 1 && <small>{t('contact.more_addresses', { count: one.emails.length - 1 })}</small>}
      </td>
      <td dir="auto">
        {one.company && <a href={hrefOf(api.organization_id, ['companies', one.company.id])}>{one.company.name}</a>}
      </td>
      <td class="number">{one.ticket_count}</td>
      <td>
        <Time at={one.updated_at} />
      </td>
    </>
  )
}
