/** Mailboxes: where email comes in, and through which server it goes out. */
import { useState } from 'preact/hooks'
import type { Mailbox, MailboxTest } from '../../../mail/mailboxes/model'
import { useNames } from '../names'
import { hrefOf } from '../route'
import { Action, Button } from '../ui/buttons'
import { Dot } from '../ui/marks'
import { Time } from '../ui/measures'
import { tell, tellFault } from '../ui/toasts'
import type { View } from '../view-types'
import { t } from '../words/catalogue'
import { DnsRecord } from './domain-list'
import { InletDialog } from './inlet'
import { mailboxBody, mailboxSpecs, mailboxValue } from './mailbox-form'
import { Managed } from './managed'

export function Mailboxes(view: View) {
  const { api } = view
  const teams = (useNames(api, 'teams') ?? []).map(({ id, name }) => ({ value: id, text: name }))
  const [inlet, setInlet] = useState<{ mailbox: Mailbox; reload: () => Promise<void> }>()
  return (
    <>
      <Managed<Mailbox>
        api={api}
        path="/mailboxes"
        caption={t('settings.mailboxes')}
        adding={t('mailbox.add')}
        empty={t('mailbox.none')}
        head={[t('mailbox.address'), t('mailbox.in'), t('mailbox.out'), t('field.status')]}
        nameOf={({ address }) => address}
        cells={(one) => <Cells {...view} mailbox={one} />}
        specs={(one) => mailboxSpecs(one, teams)}
        startOf={mailboxValue}
        toBody={mailboxBody}
        deleteMeans={() => t('mailbox.delete_means')}
        acts={(one, reload) => (
          <>
            <Action
              label={t('mailbox.test_what', { address: one.address })}
              disabled={!one.smtp}
              run={async () => {
                const result = await testMailbox(view, one)
                if (result.ok) tell(testWords(one, result))
                else tellFault(testWords(one, result))
                await reload()
              }}
            >
              {t('mailbox.test')}
            </Action>
            <Button
              text={t('inlet.title')}
              label={t('inlet.of', { address: one.address })}
              onClick={() => setInlet({ mailbox: one, reload })}
            />
          </>
        )}
      />
      {inlet && (
        <InletDialog api={api} mailbox={inlet.mailbox} onClose={() => setInlet(undefined)} reload={inlet.reload} />
      )}
    </>
  )
}

/** Connects to the server of a mailbox and signs in. */
export async function testMailbox({ api }: Pick<View, 'api'>, { id }: Mailbox): Promise<MailboxTest> {
  return (await api.post<MailboxTest>(`/mailboxes/${id}/test`)).data
}

/** The words of the server to the test. */
export function testWords({ address }: Mailbox, { ok, response_time_ms, error }: MailboxTest): string {
  return ok
    ? t('mailbox.test_ok', { address, ms: response_time_ms })
    : t('mailbox.test_failed', { address, error: error ?? '' })
}

function Cells({ api, mailbox: one }: View & { mailbox: Mailbox }) {
  const { address, name, inlet, smtp, dkim, active, is_default, sending, domain_verified } = one
  return (
    <>
      <td class="wide">
        {address}
        {name && <small dir="auto">{name}</small>}
        {is_default && <small>{t('mailbox.default')}</small>}
      </td>
      <td>
        {inlet ? t('mailbox.by_inlet', { provider: inlet.provider }) : t('mailbox.by_smtp')}
        {domain_verified && <small>{t('mailbox.domain_verified')}</small>}
      </td>
      <td class="wide">
        {smtp ? `${smtp.host}:${smtp.port}` : t('mailbox.only_receives')}
        {smtp?.auth && <small>{t('mailbox.oauth', { client: smtp.auth.client_id })}</small>}
        {dkim?.dns_record && (
          <details>
            <summary>{t('mailbox.dkim_record')}</summary>
            <DnsRecord type="TXT" {...dkim.dns_record} />
          </details>
        )}
      </td>
      <td class="wide">
        <Dot kind={active ? 'sent' : 'closed'}>{t(active ? 'mailbox.active' : 'mailbox.off')}</Dot>
        {!sending.ok && (
          <p class="fault">
            {t('mailbox.cannot_send', { count: sending.queued, error: sending.error ?? '' })}{' '}
            {sending.failing_since && <Time at={sending.failing_since} />}
          </p>
        )}
        {sending.queued > 0 && (
          <small>
            <a
              href={hrefOf(
                api.organization_id,
                ['settings', 'outbound'],
                new URLSearchParams({ status: 'queued', mailbox_id: one.id }),
              )}
            >
              {t('mailbox.waiting', { count: sending.queued })}
            </a>
          </small>
        )}
      </td>
    </>
  )
}
