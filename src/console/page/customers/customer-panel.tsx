/** The customer beside the ticket: who it is, what is known, and what else they wrote about. */
import { Pencil } from 'lucide'
import { useState } from 'preact/hooks'
import type { ContactWithTickets } from '../../../desk/contacts/model'
import type { Ticket } from '../../../desk/tickets/model'
import { type Answer, query } from '../api'
import { CustomList } from '../forms/custom-fields'
import { EditForm } from '../forms/edit-form'
import type { Body } from '../forms/spec'
import { useLive } from '../live'
import { hrefOf } from '../route'
import { Avatar } from '../ui/avatars'
import { Button } from '../ui/buttons'
import { Dialog } from '../ui/dialogs'
import { StatusMark } from '../ui/marks'
import { Time } from '../ui/measures'
import { Waiting } from '../ui/placeholders'
import { tell } from '../ui/toasts'
import type { View } from '../view-types'
import { t } from '../words/catalogue'
import { CompanyPart } from './company-part'
import { ContactForm } from './contact-form'
import { findContacts } from './find'

const SELDOM_MS = 300_000
const OTHERS = 5

type Props = Pick<View, 'api'> & { ticket: Ticket; reload: () => Promise<void> }
type Known = { contact: ContactWithTickets; etag: string | null; others: Ticket[] }

export function CustomerPanel({ api, ticket, reload }: Props) {
  const id = ticket.contact?.id
  return (
    <section class="customer" aria-label={t('customer.title')}>
      <h2>{t('customer.title')}</h2>
      {id ? (
        <Person key={id} api={api} ticket={ticket} id={id} />
      ) : (
        <NoContact api={api} ticket={ticket} reload={reload} />
      )}
      {ticket.company && <CompanyPart key={ticket.company.id} api={api} {...ticket.company} />}
      <TicketCustom api={api} ticket={ticket} reload={reload} />
    </section>
  )
}

/** Nobody can read who wrote, or the contact was deleted: somebody else is chosen. */
function NoContact({ api, ticket, reload }: Props) {
  const [is_open, setOpen] = useState(false)
  const close = () => setOpen(false)
  const save = async (body: Body) => {
    await api.patch(`/tickets/${ticket.id}`, body)
    close()
    await reload()
  }
  const find = findContacts(api)
  return (
    <>
      <p class="hint">{t('customer.none')}</p>
      <Button text={t('customer.choose')} onClick={() => setOpen(true)} />
      {is_open && (
        <Dialog title={t('customer.choose')} onClose={close}>
          <EditForm
            specs={[{ kind: 'pick', name: 'contact_id', label: t('contact.one'), find, required: true }]}
            submit={t('act.save')}
            send={save}
            onCancel={close}
          />
        </Dialog>
      )}
    </>
  )
}

function Person({ api, ticket, id }: Omit<Props, 'reload'> & { id: string }) {
  const [is_editing, setEditing] = useState(false)
  const live = useLive<Known>(
    `customer ${id}`,
    async (_before, signal) => {
      const list = `/tickets${query({ contact_id: id, per_page: OTHERS + 1 })}`
      const [one, tickets]: [Answer<ContactWithTickets>, Answer<Ticket[]>] = await Promise.all([
        api.get<ContactWithTickets>(`/contacts/${id}`, { signal }),
        api.get<Ticket[]>(list, { signal }),
      ])
      return { contact: one.data, etag: one.etag, others: tickets.data }
    },
    SELDOM_MS,
    ({ ids }, known) => ids.includes(id) || (known?.others.some((other) => ids.includes(other.id)) ?? false),
  )
  if (!live.value) return <Waiting error={live.error} />
  const { contact, etag, others } = live.value
  const href = hrefOf(api.organization_id, ['contacts', id])
  return (
    <>
      <p class="line">
        <Avatar name={contact.name} />
        <strong class="cut" dir="auto">
          <a href={href}>{contact.name}</a>
        </strong>
        <span class="grow" />
        <Button
          kind="bare"
          icon={Pencil}
          label={t('act.edit_what', { name: contact.name })}
          onClick={() => setEditing(true)}
        />
      </p>
      <PersonFacts contact={contact} />
      <OtherTickets
        api={api}
        others={others.filter((other) => other.id !== ticket.id).slice(0, OTHERS)}
        total={contact.total_tickets - 1}
        href={href}
      />
      {is_editing && (
        <ContactForm
          api={api}
          contact={contact}
          etag={etag}
          onClose={() => setEditing(false)}
          onSaved={() => void live.reload()}
        />
      )}
    </>
  )
}

function PersonFacts({ contact }: { contact: ContactWithTickets }) {
  return (
    <>
      <dl class="facts">
        <div>
          <dt>{t('contact.emails')}</dt>
          <dd>{contact.emails.join(', ')}</dd>
        </div>
        {contact.phone && (
          <div>
            <dt>{t('field.phone')}</dt>
            <dd>{contact.phone}</dd>
          </div>
        )}
        {contact.external_id && (
          <div>
            <dt>{t('field.external_id')}</dt>
            <dd>{contact.external_id}</dd>
          </div>
        )}
        <CustomList custom={contact.custom} />
      </dl>
      {contact.notes && (
        <p class="words notes" dir="auto">
          {contact.notes}
        </p>
      )}
    </>
  )
}

type OthersProps = Pick<View, 'api'> & { others: Ticket[]; total: number; href: string }

function OtherTickets({ api, others, total, href }: OthersProps) {
  if (others.length === 0) return <p class="hint">{t('customer.no_others')}</p>
  return (
    <>
      <h3>{t('customer.others')}</h3>
      <ul class="others">
        {others.map(({ id, code, subject, status, updated_at }) => (
          <li key={id}>
            <StatusMark status={status} />{' '}
            <a href={hrefOf(api.organization_id, ['tickets', id])} dir="auto">
              {subject}
            </a>
            <small>
              {code} · <Time at={updated_at} />
            </small>
          </li>
        ))}
      </ul>
      {total > others.length && (
        <p>
          <a href={href}>{t('customer.all', { count: total + 1 })}</a>
        </p>
      )}
    </>
  )
}

/** The ticket's own fields. */
function TicketCustom({ api, ticket, reload }: Props) {
  const [is_editing, setEditing] = useState(false)
  const save = async (_body: Body, changes: Body) => {
    await api.patch(`/tickets/${ticket.id}`, changes)
    setEditing(false)
    tell(t('customer.ticket_saved'))
    await reload()
  }
  return (
    <>
      <div class="line">
        <h3>{t('customer.ticket_fields')}</h3>
        <span class="grow" />
        <Button kind="bare" icon={Pencil} label={t('customer.edit_fields')} onClick={() => setEditing(true)} />
      </div>
      <dl class="facts">
        {ticket.external_id && (
          <div>
            <dt>{t('field.external_id')}</dt>
            <dd>{ticket.external_id}</dd>
          </div>
        )}
        <CustomList custom={ticket.custom} />
      </dl>
      {is_editing && (
        <Dialog title={t('customer.edit_fields')} onClose={() => setEditing(false)}>
          <EditForm
            specs={[
              {
                kind: 'text',
                name: 'external_id',
                label: t('field.external_id'),
                hint: t('field.external_id_hint'),
                max: 255,
              },
              { kind: 'custom', name: 'custom', label: t('field.custom'), hint: t('field.custom_hint') },
            ]}
            value={ticket}
            submit={t('act.save')}
            send={save}
            onCancel={() => setEditing(false)}
          />
        </Dialog>
      )}
    </>
  )
}
