/** One contact: what is known of it, its tickets, and what can be done with it. */
import { useState } from 'preact/hooks'
import type { ContactWithTickets } from '../../../desk/contacts/model'
import { Refusal } from '../api'
import { CustomList } from '../forms/custom-fields'
import { useLive } from '../live'
import { go, hrefOf } from '../route'
import { Avatar } from '../ui/avatars'
import { Button } from '../ui/buttons'
import { Time } from '../ui/measures'
import { Waiting } from '../ui/placeholders'
import type { View } from '../view-types'
import { t } from '../words/catalogue'
import { ContactActs } from './contact-acts'
import { ContactForm } from './contact-form'
import { Notes } from './notes'
import { TicketsOf } from './tickets-of'

type Shown = { contact: ContactWithTickets; etag: string | null }

export function ContactPage(view: View & { id: string }) {
  const { api, id } = view
  const [is_editing, setEditing] = useState(false)
  const live = useLive<Shown>(
    `contact ${id}`,
    async (_before, signal) => {
      try {
        const { data, etag } = await api.get<ContactWithTickets>(`/contacts/${id}`, { signal })
        return { contact: data, etag }
      } catch (error) {
        const merged = error instanceof Refusal && (error.details.merged_into as { id: string } | undefined)
        if (merged) go(hrefOf(api.organization_id, ['contacts', merged.id]), true)
        throw error
      }
    },
    undefined,
    ({ ids }) => ids.includes(id),
  )
  const back = hrefOf(api.organization_id, ['contacts'])
  if (!live.value) {
    return (
      <section class="page" aria-label={t('contact.one')}>
        <p>
          <a href={back}>{t('contacts.all')}</a>
        </p>
        <Waiting error={live.error} />
      </section>
    )
  }
  const { contact, etag } = live.value
  return (
    <section class="page" aria-label={t('contact.one')}>
      <p>
        <a href={back}>{t('contacts.all')}</a>
      </p>
      <div class="page-head">
        <Avatar name={contact.name} />
        <h1 dir="auto">{contact.name}</h1>
        <span class="grow" />
        <Button kind="main" text={t('act.edit')} onClick={() => setEditing(true)} />
        <ContactActs {...view} contact={contact} reload={live.reload} />
      </div>
      <div class="page-columns">
        <Facts {...view} contact={contact} />
        <TicketsOf api={api} filter={{ contact_id: id }} total={contact.total_tickets} />
      </div>
      {is_editing && (
        <ContactForm
          api={api}
          contact={contact}
          etag={etag}
          onClose={() => setEditing(false)}
          onSaved={() => void live.reload()}
        />
      )}
    </section>
  )
}

function Facts({ api, contact }: Pick<View, 'api'> & { contact: ContactWithTickets }) {
  const { emails, phone, company, external_id, custom, notes, created_at } = contact
  return (
    <div class="card">
      <dl class="facts">
        <div>
          <dt>{t('contact.emails')}</dt>
          <dd>
            <ul>
              {emails.map((email) => (
                <li key={email}>{email}</li>
              ))}
            </ul>
          </dd>
        </div>
        {phone && (
          <div>
            <dt>{t('field.phone')}</dt>
            <dd>{phone}</dd>
          </div>
        )}
        <div>
          <dt>{t('field.company')}</dt>
          <dd dir="auto">
            {company ? (
              <a href={hrefOf(api.organization_id, ['companies', company.id])}>{company.name}</a>
            ) : (
              t('contact.no_company')
            )}
          </dd>
        </div>
        {external_id && (
          <div>
            <dt>{t('field.external_id')}</dt>
            <dd>{external_id}</dd>
          </div>
        )}
        <CustomList custom={custom} />
        <div>
          <dt>{t('field.since')}</dt>
          <dd>
            <Time at={created_at} />
          </dd>
        </div>
      </dl>
      <Notes text={notes} />
    </div>
  )
}
