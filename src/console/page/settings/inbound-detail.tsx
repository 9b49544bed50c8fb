/** One email of the ledger: how it came, what the checks say, and what can be done with it. */
import type { InboundMessage } from '../../../mail/inbound-messages/model'
import { download } from '../download'
import { useLive } from '../live'
import { hrefOf } from '../route'
import { Action, Button } from '../ui/buttons'
import { Dialog } from '../ui/dialogs'
import { Dot } from '../ui/marks'
import { bytes, Time } from '../ui/measures'
import { Waiting } from '../ui/placeholders'
import { tell } from '../ui/toasts'
import type { View } from '../view-types'
import { t } from '../words/catalogue'
import { OUTCOME_DOT, senderWords } from './ledger-words'

type Props = View & { id: string; onClose: () => void; reloadList: () => Promise<void> }

export function InboundDetail(view: Props) {
  const { api, id, onClose } = view
  const path = `/inbound-messages/${id}`
  const live = useLive<InboundMessage>(
    path,
    async (_before, signal) => (await api.get<InboundMessage>(path, { signal })).data,
  )
  return (
    <Dialog title={t('inbound.one')} onClose={onClose}>
      {live.value ? (
        <Known {...view} one={live.value} reload={live.reload} />
      ) : (
        <>
          <Waiting error={live.error} />
          <Button text={t('ui.close')} onClick={onClose} />
        </>
      )}
    </Dialog>
  )
}

function Known(view: Props & { one: InboundMessage; reload: () => Promise<void> }) {
  const { api, one } = view
  const { outcome, ticket_id, from, subject } = one
  return (
    <>
      <p class="line">
        <Dot kind={OUTCOME_DOT[outcome] ?? 'closed'}>{t(`outcome.${outcome}`)}</Dot>
        <Time at={one.received_at} />
        {ticket_id && <a href={hrefOf(api.organization_id, ['tickets', ticket_id])}>{t('inbound.open_ticket')}</a>}
      </p>
      <h3 dir="auto">{subject ?? t('inbound.no_subject')}</h3>
      <p dir="auto">
        <bdi>{from?.name}</bdi> {from?.email && `<${from.email}>`}
      </p>
      <Facts one={one} />
      <Acts {...view} />
    </>
  )
}

function Facts({ one }: { one: InboundMessage }) {
  const { mailbox, envelope_from, recipients, email_message_id, remote_address, helo, tls, size } = one
  const { sender_verified, authentication, spam_score, spam_by, rule, smtp_reply } = one
  const facts: [string, string | null | undefined][] = [
    [t('mail.mailbox'), mailbox?.address],
    [t('inbound.envelope_from'), envelope_from === '' ? t('inbound.null_sender') : envelope_from],
    [t('mail.to'), recipients.join(', ')],
    ['Message-ID', email_message_id],
    [
      t('inbound.server'),
      remote_address && [remote_address, helo && `(${helo})`, tls && 'TLS'].filter(Boolean).join(' '),
    ],
    [t('inbound.size'), bytes(size)],
    [t('mail.sender'), senderWords(sender_verified)],
    [
      t('inbound.checks'),
      authentication &&
        Object.entries(authentication)
          .map(([name, result]) => `${name.toUpperCase()} ${result}`)
          .join(', '),
    ],
    [t('inbound.spam'), spam_by && `${spam_score ?? ''} ${t(`spam_by.${spam_by}`)}`.trim()],
    [t('mail.rule'), rule && t(`rule.${rule}`)],
    [t('inbound.reply'), smtp_reply],
  ]
  return (
    <dl class="facts">
      {facts.map(
        ([name, value]) =>
          value && (
            <div key={name}>
              <dt>{name}</dt>
              <dd dir="auto">{value}</dd>
            </div>
          ),
      )}
    </dl>
  )
}

function Acts({ api, one, reload, reloadList, onClose }: Props & { one: InboundMessage; reload: () => Promise<void> }) {
  const { id, outcome, from, envelope_from } = one
  const sender = from?.email ?? (envelope_from || undefined)
  const refresh = () => Promise.all([reload(), reloadList()])
  const rule = async (action: 'block' | 'allow') => {
    await api.post('/sender-rules', { sender, action })
    tell(t(action === 'block' ? 'sender.is_blocked' : 'sender.is_allowed', { sender: sender! }))
  }
  return (
    <p class="buttons">
      {outcome === 'spam' && (
        <Action
          kind="main"
          run={async () => {
            await api.post(`/inbound-messages/${id}/release`)
            tell(t('inbound.released'))
            await refresh()
          }}
        >
          {t('inbound.release')}
        </Action>
      )}
      {outcome !== 'refused' && (
        <Action run={() => download(api, `/inbound-messages/${id}/raw`, `${id}.eml`)}>{t('inbound.download')}</Action>
      )}
      {sender && <Action run={() => rule('block')}>{t('sender.block_this')}</Action>}
      {sender && outcome === 'spam' && <Action run={() => rule('allow')}>{t('sender.allow_this')}</Action>}
      <Button text={t('ui.close')} onClick={onClose} />
    </p>
  )
}
