/** The mail ledger: every email that came in, what became of it, and what is held. */
import { useState } from 'preact/hooks'
import type { InboundMessage } from '../../../mail/inbound-messages/model'
import type { Mailbox } from '../../../mail/mailboxes/model'
import { Filters, filterOf } from '../forms/filters'
import type { Spec } from '../forms/spec'
import { useRows } from '../lists'
import { useNames } from '../names'
import { go, hrefOf } from '../route'
import { Table } from '../rows'
import { Button } from '../ui/buttons'
import { Dot } from '../ui/marks'
import { Time } from '../ui/measures'
import type { View } from '../view-types'
import { t } from '../words/catalogue'
import { InboundDetail } from './inbound-detail'
import { Trial } from './inbound-trial'
import { OUTCOME_DOT, senderWords } from './ledger-words'
import { mailboxChoice } from './outbound-list'

const OUTCOMES = [
  ...(['pending', 'ticket', 'message', 'bounce', 'duplicate', 'own'] as const),
  ...(['unmatched_bounce', 'unparsed', 'spam', 'refused'] as const),
]
export function Inbound(view: View) {
  const { api, route } = view
  const mailboxes = useNames(api, 'mailboxes')
  const specs = filterSpecs(mailboxes ?? [])
  const filter = filterOf(route.query, specs)
  const list = useRows<InboundMessage>(api, '/inbound-messages', filter)
  const [is_trying, setTrying] = useState(false)
  const id = route.path[2]
  const here = (more: string[] = []) => hrefOf(api.organization_id, ['settings', 'inbound', ...more], route.query)
  return (
    <>
      <Filters {...view} specs={specs} label={t('mail.filter')} />
      <p class="line">
        <Button text={t('trial.title')} onClick={() => setTrying(true)} />
      </p>
      <Table
        list={list}
        caption={t('settings.inbound')}
        head={[t('mail.received'), t('mail.from'), t('mail.subject'), t('mail.outcome'), t('mail.sender')]}
        empty={Object.keys(filter).length > 0 ? t('list.none_found') : t('inbound.none')}
        row={(one) => <Row one={one} href={one.id ? here([one.id]) : undefined} api={api} />}
      />
      {id && <InboundDetail key={id} {...view} id={id} onClose={() => go(here())} reloadList={list.reload} />}
      {is_trying && mailboxes && (
        <Trial {...view} mailboxes={mailboxes} onClose={() => setTrying(false)} onImported={list.reload} />
      )}
    </>
  )
}

function filterSpecs(mailboxes: Mailbox[]): Spec[] {
  return [
    {
      kind: 'choice',
      name: 'outcome',
      label: t('mail.outcome'),
      options: [
        { value: '', text: t('mail.all') },
        ...OUTCOMES.map((value) => ({ value, text: t(`outcome.${value}`) })),
      ],
    },
    mailboxChoice(mailboxes),
    { kind: 'text', name: 'from', label: t('mail.from'), placeholder: '@customer.example' },
    { kind: 'text', name: 'to', label: t('mail.to') },
    { kind: 'text', name: 'subject', label: t('mail.subject') },
    { kind: 'text', name: 'email_message_id', label: 'Message-ID' },
    { kind: 'date', name: 'received_after', label: t('time.from') },
    { kind: 'date', name: 'received_before', label: t('time.to') },
    { kind: 'check', name: 'include_refused', label: t('inbound.include_refused') },
  ]
}

function Row({ one, href, api }: Pick<View, 'api'> & { one: InboundMessage; href: string | undefined }) {
  const { received_at, from, subject, outcome, rule, ticket_id, sender_verified, mailbox, envelope_from, smtp_reply } =
    one
  return (
    <>
      <td>
        <a href={href}>
          <Time at={received_at} />
        </a>
      </td>
      <td class="wide" dir="auto">
        {from?.name || from?.email || envelope_from || t('inbound.not_known')}
        {from?.name && <small>{from.email}</small>}
      </td>
      <td class="wide" dir="auto">
        {subject ?? ''}
        <small>{mailbox && t('inbound.to_mailbox', { address: mailbox.address })}</small>
      </td>
      <td class="wide">
        <Dot kind={OUTCOME_DOT[outcome] ?? 'closed'}>
          {ticket_id ? (
            <a href={hrefOf(api.organization_id, ['tickets', ticket_id])}>{t(`outcome.${outcome}`)}</a>
          ) : (
            t(`outcome.${outcome}`)
          )}
        </Dot>
        {rule && <small>{t(`rule.${rule}`)}</small>}
        {smtp_reply && <small>{smtp_reply}</small>}
      </td>
      <td>{outcome === 'refused' ? '' : senderWords(sender_verified)}</td>
    </>
  )
}
