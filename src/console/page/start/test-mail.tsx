/** A test of the way in, and of the way out and back. */
import type { Contact } from '../../../desk/contacts/model'
import type { Message } from '../../../desk/messages/model'
import type { Ticket } from '../../../desk/tickets/model'
import type { InboundMessage } from '../../../mail/inbound-messages/model'
import { type Api, query } from '../api'
import { EditForm } from '../forms/edit-form'
import { Copyable } from '../forms/secret'
import type { Body } from '../forms/spec'
import { hrefOf } from '../route'
import { Action } from '../ui/buttons'
import { Dot } from '../ui/marks'
import { Time } from '../ui/measures'
import { tell } from '../ui/toasts'
import { t } from '../words/catalogue'
import { type Progress, TEST_FIELD } from './progress'
import { isPublic } from './records'

type Props = { api: Api; progress: Progress; reload: () => Promise<void> }

/** Waits for an email that comes in by itself. */
export function Arrival({ api, progress, reload }: Props) {
  const { mailbox, arrived, smtp } = progress
  if (arrived) {
    return (
      <p>
        <Dot kind="sent">
          {t('start.arrived', {
            sender: arrived.from?.email ?? arrived.envelope_from ?? '',
            subject: arrived.subject ?? '',
          })}
        </Dot>{' '}
        <Time at={arrived.received_at} />
      </p>
    )
  }
  const { address, id } = mailbox!
  const putIn = async () => {
    const content = `From: Carla <carla@customer.example>\r\nTo: ${address}\r\nSubject: ${t('start.example_subject')}\r\n\r\n${t('start.example_text')}\r\n`
    await api.post<InboundMessage>(`/inbound-messages?mailbox_id=${id}`, undefined, {
      raw: { type: 'message/rfc822', content },
    })
    tell(t('start.put_in_done'))
    await reload()
  }
  return (
    <>
      <p>{t('start.write_to')}</p>
      <p>
        <Copyable text={address} label={t('mailbox.address')} />
      </p>
      <p role="status">
        <Dot kind="queued">{t('start.waiting')}</Dot>
      </p>
      <details>
        <summary>{t('start.no_records')}</summary>
        {smtp && isPublic(location.hostname) && <pre>{commandFor(address, smtp.port)}</pre>}
        <Action run={putIn}>{t('start.put_in')}</Action>
      </details>
    </>
  )
}

function commandFor(address: string, port: number): string {
  return [
    "printf 'From: Carla <carla@customer.example>\\r\\nSubject: The printer is on fire\\r\\n\\r\\nHelp!\\r\\n' |",
    `  curl smtp://${location.hostname}:${port} --mail-from carla@customer.example --mail-rcpt ${address} -T -`,
  ].join('\n')
}

/** Sends an answer to an address, the mailbox itself unless another is given, and shows what became of it. */
export function TestMail({ api, progress, reload }: Props) {
  const { mailbox, test } = progress
  const send = async ({ email }: Body) => {
    const contact = await contactOf(api, String(email))
    const { data: ticket } = await api.post<Ticket>('/tickets', {
      subject: t('start.test_subject'),
      contact_id: contact.id,
      custom: { [TEST_FIELD]: true },
    })
    await api.post<Message>(`/tickets/${ticket.id}/messages`, { body: t('start.test_text'), format: 'text' })
    await reload()
  }
  return (
    <>
      <p>{t('start.test_means')}</p>
      <EditForm
        specs={[
          { kind: 'email', name: 'email', label: t('start.test_to'), hint: t('start.test_to_hint'), required: true },
        ]}
        value={{ email: mailbox!.address }}
        submit={t('start.test_send')}
        send={send}
      />
      {test && <Outcome api={api} test={test} />}
    </>
  )
}

async function contactOf(api: Api, email: string): Promise<Contact> {
  const { data } = await api.get<Contact[]>(`/contacts${query({ email, per_page: 1 })}`)
  if (data[0]) return data[0]
  return (await api.post<Contact>('/contacts', { name: email, email, company_id: null })).data
}

function Outcome({ api, test }: { api: Api; test: NonNullable<Progress['test']> }) {
  const { ticket, returned } = test
  const message = ticket.messages.find(({ direction }) => direction === 'outbound')
  const answer = ticket.messages.find(({ direction }) => direction === 'inbound')
  if (!message) return null
  const { email_status, email_error } = message
  return (
    <ul class="outcome" role="status">
      <li>
        <Dot kind={email_status}>{email_status === 'none' ? t('start.not_sent') : t(`mail.${email_status}`)}</Dot>{' '}
        <a href={hrefOf(api.organization_id, ['tickets', ticket.id])}>{ticket.code}</a>
        {email_error && <small class="fault">{email_error}</small>}
      </li>
      <li>
        {returned ? (
          <>
            <Dot kind="sent">{t('start.returned')}</Dot>{' '}
            {returned.authentication &&
              Object.entries(returned.authentication)
                .map(([name, result]) => `${name.toUpperCase()} ${result}`)
                .join(', ')}
          </>
        ) : answer ? (
          <Dot kind="sent">{t('start.answered')}</Dot>
        ) : (
          <Dot kind="queued">{t('start.waits_for_answer')}</Dot>
        )}
      </li>
    </ul>
  )
}
