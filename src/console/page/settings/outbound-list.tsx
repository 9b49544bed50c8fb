/** Lists emails of the team: who got them, and what the servers said. */
import type { Mailbox } from '../../../mail/mailboxes/model'
import type { OutboundMessage } from '../../../mail/outbound-messages/model'
import { Filters, filterOf } from '../forms/filters'
import type { Spec } from '../forms/spec'
import { useRows } from '../lists'
import { useNames } from '../names'
import { hrefOf } from '../route'
import { Table } from '../rows'
import { Action } from '../ui/buttons'
import { Dot } from '../ui/marks'
import { Time } from '../ui/measures'
import { tell } from '../ui/toasts'
import type { View } from '../view-types'
import { t } from '../words/catalogue'

const STATUSES = ['queued', 'sent', 'failed', 'bounced'] as const

export function Outbound(view: View) {
  const { api, route } = view
  const mailboxes = useNames(api, 'mailboxes') ?? []
  const specs = filterSpecs(mailboxes)
  const list = useRows<OutboundMessage>(api, '/outbound-messages', filterOf(route.query, specs), ({ type }) =>
    type.startsWith('message.'),
  )
  return (
    <>
      <Filters {...view} specs={specs} label={t('mail.filter')} />
      <Table
        list={list}
        caption={t('settings.outbound')}
        head={[t('mail.sent_at'), t('field.ticket'), t('mail.to'), t('field.status'), t('mail.answer'), t('list.acts')]}
        empty={t('outbound.none')}
        row={(one) => <Row {...view} one={one} reload={list.reload} />}
      />
    </>
  )
}

/** The choice of a mailbox, for filters. */
export function mailboxChoice(mailboxes: Mailbox[]): Spec {
  return {
    kind: 'choice',
    name: 'mailbox_id',
    label: t('mail.mailbox'),
    options: [
      { value: '', text: t('mail.all') },
      ...mailboxes.map(({ id, address }) => ({ value: id, text: address })),
    ],
  }
}

function filterSpecs(mailboxes: Mailbox[]): Spec[] {
  return [
    {
      kind: 'choice',
      name: 'status',
      label: t('field.status'),
      options: [{ value: '', text: t('mail.all') }, ...STATUSES.map((value) => ({ value, text: t(`mail.${value}`) }))],
    },
    mailboxChoice(mailboxes),
    { kind: 'text', name: 'to', label: t('mail.to'), placeholder: '@customer.example' },
    { kind: 'text', name: 'subject', label: t('mail.subject') },
    { kind: 'text', name: 'email_message_id', label: 'Message-ID' },
    { kind: 'date', name: 'created_after', label: t('time.from') },
    { kind: 'date', name: 'created_before', label: t('time.to') },
  ]
}

function Row({ api, one, reload }: View & { one: OutboundMessage; reload: () => Promise<void> }) {
  const { id, ticket, mailbox, recipients, status, attempts, next_attempt_at, server_response, created_at } = one
  const resend = async () => {
    await api.post(`/tickets/${ticket.id}/messages/${id}/resend`)
    tell(t('outbound.resent', { code: ticket.code }))
    await reload()
  }
  return (
    <>
      <td>
        <Time at={created_at} />
      </td>
      <td class="wide" dir="auto">
        <a href={hrefOf(api.organization_id, ['tickets', ticket.id])}>
          <span class="code">{ticket.code}</span> {ticket.subject}
        </a>
        <small>{mailbox && t('mail.from_mailbox', { address: mailbox.address })}</small>
      </td>
      <td class="wide">
        <ul>
          {recipients.map(({ email, status, error }) => (
            <li key={email}>
              {email}
              {error && (
                <small class="fault">
                  {t(`mail.${status}`)}: {error}
                </small>
              )}
            </li>
          ))}
        </ul>
      </td>
      <td>
        <Dot kind={status}>{t(`mail.${status}`)}</Dot>
        {next_attempt_at && (
          <small>
            {t('outbound.next')} <Time at={next_attempt_at} />
          </small>
        )}
      </td>
      <td class="wide">
        {server_response}
        {attempts > 1 && <small>{t('outbound.attempts', { count: attempts })}</small>}
      </td>
      <td class="buttons">
        {(status === 'failed' || status === 'bounced') && (
          <Action run={resend} label={t('outbound.resend_of', { code: ticket.code })}>
            {t('outbound.resend')}
          </Action>
        )}
      </td>
    </>
  )
}
