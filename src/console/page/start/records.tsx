/** The DNS records of the mailbox's domain, each with what is known of it. */
import type { ComponentChildren } from 'preact'
import type { Domain, DomainRecord } from '../../../mail/domains/model'
import type { Mailbox } from '../../../mail/mailboxes/model'
import type { Api } from '../api'
import { Copyable } from '../forms/secret'
import { RARELY_MS, useLive } from '../live'
import { ScrollTable } from '../rows'
import { Action } from '../ui/buttons'
import { Dot } from '../ui/marks'
import { tell } from '../ui/toasts'
import { t } from '../words/catalogue'
import type { Progress } from './progress'

const SELECTOR = 'deskwire'
/** A name or address that the world can reach: no bare name, and none of this machine or of a private network. */
const PUBLIC =
  /^(?!(localhost|.*\.(local|localhost|internal|lan|home)|(0|10|127|169\.254|192\.168|172\.(1[6-9]|2\d|3[01]))\..*)$)[\w-]+(\.[\w-]+)+$/i

/** Tells if others can reach a host by this name. */
export function isPublic(host: string): boolean {
  return PUBLIC.test(host)
}

type Props = { api: Api; progress: Progress; reload: () => Promise<void> }

export function Records({ api, progress, reload }: Props) {
  const mailbox = progress.mailbox!
  const domain = mailbox.address.replace(/^.*@/, '')
  const host = progress.smtp?.hostname
  const claim = progress.domains.find((one) => one.domain === domain.toLowerCase())
  const checks = useChecks(api, claim, mailbox)
  return (
    <>
      <p class="hint">
        {t('records.means', { domain })} {t(claim?.status === 'verified' ? 'records.kept' : 'records.prove_first')}
      </p>
      <ScrollTable caption={t('records.title')} class="records">
        <thead>
          <tr>
            <th scope="col">{t('records.what')}</th>
            <th scope="col">{t('records.record')}</th>
            <th scope="col">{t('records.check')}</th>
          </tr>
        </thead>
        <tbody>
          <Ownership api={api} domain={domain} claim={claim} reload={reload} />
          {host && (
            <Row
              what={t('records.mx')}
              type="MX"
              name={domain}
              value={isPublic(host) ? `10 ${host}.` : undefined}
              hint={isPublic(host) ? undefined : t('records.no_name', { host })}
              {...checks('MX')}
              otherwise={
                <Dot kind={progress.arrived ? 'sent' : 'queued'}>
                  {t(progress.arrived ? 'records.mail_comes' : 'records.by_arrival')}
                </Dot>
              }
            />
          )}
          {mailbox.smtp && (
            <SenderRows
              api={api}
              mailbox={mailbox}
              host={mailbox.smtp.host}
              progress={progress}
              reload={reload}
              checks={checks}
            />
          )}
        </tbody>
      </ScrollTable>
    </>
  )
}

/** The records that DNS has, and how to look again. */
type Checks = (purpose: DomainRecord['purpose']) => { checked: DomainRecord | undefined; look: () => Promise<void> }

/** The records as the service finds them, once the domain is proven. */
function useChecks(api: Api, claim: Domain | undefined, mailbox: Mailbox): Checks {
  const { reload, value = [] } = useLive<DomainRecord[]>(
    `records ${claim?.id} ${claim?.status} ${mailbox.smtp?.host} ${mailbox.dkim?.dns_record?.value}`,
    async (_before, signal) =>
      claim ? (await api.get<DomainRecord[]>(`/domains/${claim.id}/records`, { signal })).data : [],
    RARELY_MS,
  )
  const name = mailbox.dkim?.dns_record?.name
  return (purpose) => ({
    checked: value.find((one) => one.purpose === purpose && (purpose !== 'DKIM' || one.name === name)),
    look: reload,
  })
}

type SenderProps = Props & { mailbox: Mailbox; host: string; checks: Checks }

/** The records that receivers look at. The mail that came back to the mailbox says how it was judged. */
function SenderRows({ api, mailbox, host, progress, reload, checks }: SenderProps) {
  const domain = mailbox.address.replace(/^.*@/, '')
  const sender = isPublic(host) ? `${/^[\d.]+$/.test(host) ? 'ip4' : 'a'}:${host}` : 'mx'
  const value = `v=spf1 ${sender} ~all`
  const { checked, look } = checks('SPF')
  // The service compares with a name or an address that nobody else may know.
  const spf = { look, checked: checked && (isPublic(host) ? checked : { ...checked, value }) }
  const judged = progress.test?.returned?.authentication
  const mark = (result: string | undefined) =>
    result === undefined ? <Dot kind="queued">{t('records.by_test')}</Dot> : <Result result={result} />
  return (
    <>
      <Row
        what={t('records.spf')}
        type="TXT"
        name={domain}
        value={value}
        hint={t('records.spf_hint')}
        {...spf}
        otherwise={mark(judged?.spf)}
      />
      <Dkim
        api={api}
        mailbox={mailbox}
        domain={domain}
        reload={reload}
        {...checks('DKIM')}
        otherwise={mark(judged?.dkim)}
      />
      <Row
        what={t('records.dmarc')}
        type="TXT"
        name={`_dmarc.${domain}`}
        value="v=DMARC1; p=none"
        hint={t('records.dmarc_hint')}
        {...checks('DMARC')}
        otherwise={mark(judged?.dmarc)}
      />
    </>
  )
}

function Result({ result }: { result: string }) {
  return <Dot kind={result === 'pass' ? 'sent' : 'failed'}>{result}</Dot>
}

type Looked = { checked?: DomainRecord | undefined; look?: () => Promise<void>; otherwise: ComponentChildren }
type RowProps = Looked & {
  what: string
  type: string
  name: string
  value: string | undefined
  hint?: string | undefined
}

function Row({ what, type, name, value, hint, ...looked }: RowProps) {
  const { checked } = looked
  return (
    <tr>
      <td>
        {what} <small>{type}</small>
      </td>
      <td class="wide">
        {value && <Copyable text={name} label={t('records.name_of', { name: what })} />}
        {value && <Copyable text={checked?.value ?? value} label={t('records.value_of', { name: what })} />}
        {hint && <small>{hint}</small>}
      </td>
      <td class="checked">
        <Verdict what={what} {...looked} />
      </td>
    </tr>
  )
}

/** The value found for a record, and its fault. */
function Verdict({ what, checked, look, otherwise }: Looked & { what: string }) {
  if (!checked || checked.state === 'left') return <>{otherwise}</>
  const { state, purpose, found } = checked
  const kind = { ok: 'sent', unknown: 'queued', missing: 'failed', differs: 'failed' }[state]
  return (
    <>
      <Dot kind={kind}>{t(`records.is_${state}`)}</Dot>
      {state === 'missing' && <small>{t(`records.without_${purpose}`)}</small>}
      {state === 'differs' && purpose !== 'DMARC' && <small>{t(`records.other_${purpose}`)}</small>}
      {state === 'differs' && found && (
        <small>
          {t('records.found')} <code>{found.join(' · ')}</code>
        </small>
      )}
      {look && (
        <Action run={look} label={t('records.check_of', { name: what })}>
          {t('records.check')}
        </Action>
      )}
    </>
  )
}

type OwnershipProps = { api: Api; domain: string; claim: Domain | undefined; reload: () => Promise<void> }

function Ownership({ api, domain, claim, reload }: OwnershipProps) {
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
      otherwise={
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

type DkimProps = Looked & { api: Api; mailbox: Mailbox; domain: string; reload: () => Promise<void> }

function Dkim({ api, mailbox, domain, reload, ...looked }: DkimProps) {
  const record = mailbox.dkim?.dns_record
  if (record) return <Row what={t('records.dkim')} type="TXT" {...record} {...looked} />
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
