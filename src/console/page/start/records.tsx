/** The DNS records of the mailbox's domain, each with what is known of it. */
import type { ComponentChildren } from 'preact'
import type { Domain } from '../../../mail/domains/model'
import type { Mailbox } from '../../../mail/mailboxes/model'
import type { Api } from '../api'
import { Copyable } from '../forms/secret'
import { ScrollTable } from '../rows'
import { Action } from '../ui/buttons'
import { Dot } from '../ui/marks'
import { tell } from '../ui/toasts'
import { t } from '../words/catalogue'
import type { Progress } from './progress'

const SELECTOR = 'deskwire'

type Props = { api: Api; progress: Progress; reload: () => Promise<void> }

export function Records({ api, progress, reload }: Props) {
  const mailbox = progress.mailbox!
  const domain = mailbox.address.replace(/^.*@/, '')
  const host = progress.smtp?.hostname
  return (
    <>
      <p class="hint">{t('records.means', { domain })}</p>
      <ScrollTable caption={t('records.title')} class="records">
        <thead>
          <tr>
            <th scope="col">{t('records.what')}</th>
            <th scope="col">{t('records.record')}</th>
            <th scope="col">{t('records.check')}</th>
          </tr>
        </thead>
        <tbody>
          <Ownership api={api} domain={domain} claimed={progress.domains} reload={reload} />
          {host && (
            <Row
              what={t('records.mx')}
              type="MX"
              name={domain}
              value={`10 ${host}.`}
              check={
                <Dot kind={progress.arrived ? 'sent' : 'queued'}>
                  {t(progress.arrived ? 'records.mail_comes' : 'records.by_arrival')}
                </Dot>
              }
            />
          )}
          {mailbox.smtp && (
            <SenderRows api={api} mailbox={mailbox} host={mailbox.smtp.host} progress={progress} reload={reload} />
          )}
        </tbody>
      </ScrollTable>
    </>
  )
}

type SenderProps = Props & { mailbox: Mailbox; host: string }

/** What receivers look at. The mail that came back to the mailbox says how it was judged. */
function SenderRows({ api, mailbox, host, progress, reload }: SenderProps) {
  const domain = mailbox.address.replace(/^.*@/, '')
  const checks = progress.test?.returned?.authentication
  const mark = (result: string | undefined) =>
    result === undefined ? <Dot kind="queued">{t('records.by_test')}</Dot> : <Result result={result} />
  return (
    <>
      <Row
        what={t('records.spf')}
        type="TXT"
        name={domain}
        value={`v=spf1 ${/^[\d.]+$/.test(host) ? 'ip4' : 'a'}:${host} ~all`}
        hint={t('records.spf_hint')}
        check={mark(checks?.spf)}
      />
      <Dkim api={api} mailbox={mailbox} domain={domain} reload={reload} check={mark(checks?.dkim)} />
      <Row
        what={t('records.dmarc')}
        type="TXT"
        name={`_dmarc.${domain}`}
        value="v=DMARC1; p=none"
        hint={t('records.dmarc_hint')}
        check={mark(checks?.dmarc)}
      />
    </>
  )
}

function Result({ result }: { result: string }) {
  return <Dot kind={result === 'pass' ? 'sent' : 'failed'}>{result}</Dot>
}

type RowProps = { what: string; type: string; name: string; value: string; hint?: string; check: ComponentChildren }

function Row({ what, type, name, value, hint, check }: RowProps) {
  return (
    <tr>
      <td>
        {what} <small>{type}</small>
      </td>
      <td class="wide">
        <Copyable text={name} label={t('records.name_of', { name: what })} />
        <Copyable text={value} label={t('records.value_of', { name: what })} />
        {hint && <small>{hint}</small>}
      </td>
      <td>{check}</td>
    </tr>
  )
}

type OwnershipProps = { api: Api; domain: string; claimed: Domain[]; reload: () => Promise<void> }

function Ownership({ api, domain, claimed, reload }: OwnershipProps) {
  const claim = claimed.find((one) => one.domain === domain.toLowerCase())
  if (!claim) {
    return (
      <tr>
        <td>{t('records.ownership')}</td>
        <td class="wide">{t('records.ownership_means')}</td>
        <td>
          <Action
            run={async () => {
              await api.post('/domains', { domain })
              await reload()
            }}
          >
            {t('records.claim')}
          </Action>
        </td>
      </tr>
    )
  }
  const check = async () => {
    await api.post(`/domains/${claim.id}/verify`)
    tell(t('domain.is_yours', { domain }))
    await reload()
  }
  return (
    <Row
      what={t('records.ownership')}
      type="TXT"
      {...claim.dns_record}
      check={
        claim.status === 'verified' ? (
          <Dot kind="sent">{t('domain.verified')}</Dot>
        ) : (
          <Action run={check} label={t('domain.check', { domain })}>
            {t('records.check')}
          </Action>
        )
      }
    />
  )
}

type DkimProps = { api: Api; mailbox: Mailbox; domain: string; reload: () => Promise<void>; check: ComponentChildren }

function Dkim({ api, mailbox, domain, reload, check }: DkimProps) {
  const record = mailbox.dkim?.dns_record
  if (record) return <Row what={t('records.dkim')} type="TXT" {...record} check={check} />
  return (
    <tr>
      <td>{t('records.dkim')}</td>
      <td class="wide">{t('records.dkim_means')}</td>
      <td>
        <Action
          run={async () => {
            await api.patch(`/mailboxes/${mailbox.id}`, { dkim: { domain, selector: SELECTOR } })
            await reload()
          }}
        >
          {t('records.make_key')}
        </Action>
      </td>
    </tr>
  )
}
