/** The customer beside the ticket: who it is, what is known, and what else they wrote about. */
import { Pencil } from 'lucide'
import { useState } from 'preact/hooks'
import type { ContactWithTickets } from '../../../desk/contacts/model'
import type { Ticket } from '../../../desk/tickets/model'
import type { Answer } from '../api'
import { CustomList } from '../forms/custom-fields'
import { EditForm } from '../forms/edit-form'
import type { Body } from '../forms/spec'
import type { Included } from '../inbox/after-event'
import { hrefOf } from '../route'
import { Button } from '../ui/buttons'
import { Dialog } from '../ui/dialogs'
import { StatusMark } from '../ui/marks'
import { Time } from '../ui/measures'
import { attempt, tell } from '../ui/toasts'
import type { View } from '../view-types'
import { t } from '../words/catalogue'
import { CompanyPart } from './company-part'
import { ContactForm } from './contact-form'
import { findContacts } from './find'

const OTHERS = 5

type Props = Pick<View, 'api'> & { ticket: Ticket; included: Included; reload: () => Promise<void> }

export function CustomerPanel({ included, ...props }: Props) {
  const { api, ticket, reload } = props
  const { contact } = included
  const { company } = ticket
  return (
    <section class="customer" aria-label={t('customer.title')}>
      <h2>{t('customer.title')}</h2>
      {contact ? (
        <Person key={contact.id} api={api} contact={contact} others={included.other_tickets} reload={reload} />
      ) : (
        <NoContact api={api} ticket={ticket} reload={reload} />
      )}
      {company && <CompanyPart key={company.id} api={api} company={company} />}
      <TicketCustom api={api} ticket={ticket} reload={reload} />
    </section>
  )
}

/** Nobody can read who wrote, or the contact was deleted: somebody else is chosen. */
function NoContact({ api, ticket, reload }: Omit<Props, 'included'>) {
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

type PersonProps = Pick<Props, 'api' | 'reload'> & { contact: ContactWithTickets; others: Ticket[] }

function Person({ api, contact, others, reload }: PersonProps) {
  /** The contact as it is when its form is opened. */
  const [edited, setEdited] = useState<Answer<ContactWithTickets>>()
  const edit = () => attempt(async () => setEdited(await api.get<ContactWithTickets>(`/contacts/${contact.id}`)))
  const href = hrefOf(api.organization_id, ['contacts', contact.id])
  return (
    <>
      <p class="line">
        <strong class="cut" dir="auto">
          <a href={href}>{contact.name}</a>
        </strong>
        <span class="grow" />
        <Button
          kind="bare"
          icon={Pencil}
          label={t('act.edit_what', { name: contact.name })}
          onClick={() => void edit()}
        />
      </p>
      <PersonFacts contact={contact} />
      <OtherTickets api={api} others={others.slice(0, OTHERS)} total={contact.total_tickets - 1} href={href} />
      {edited && (
        <ContactForm
          api={api}
          contact={edited.data}
          etag={edited.etag}
          onClose={() => setEdited(undefined)}
          onSaved={() => void reload()}
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
function TicketCustom({ api, ticket, reload }: Omit<Props, 'included'>) {
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
        {ticket.parent && (
          <div>
            <dt>{t('ticket.parent')}</dt>
            <dd dir="auto">
              <a href={hrefOf(api.organization_id, ['tickets', ticket.parent.id])}>{ticket.parent.subject}</a>{' '}
              <small>{ticket.parent.code}</small>
            </dd>
          </div>
        )}
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
