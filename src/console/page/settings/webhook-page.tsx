/** One webhook: its state, what can be done with it, and its deliveries. */
import { useState } from 'preact/hooks'
import type { Delivery, Webhook } from '../../../delivery/webhooks/model'
import { Filters, filterOf } from '../forms/filters'
import type { Spec } from '../forms/spec'
import { useRows } from '../lists'
import { useLive } from '../live'
import { go, hrefOf } from '../route'
import { Table } from '../rows'
import { Action, Button } from '../ui/buttons'
import { Dot } from '../ui/marks'
import { Time } from '../ui/measures'
import { Waiting } from '../ui/placeholders'
import { tell, tellFault } from '../ui/toasts'
import type { View } from '../view-types'
import { t } from '../words/catalogue'
import { DELIVERY_DOT, OneDelivery } from './delivery'
import { Replay } from './replay-form'
import { EVENTS } from './webhook-form'
import { faultWords, WebhookState } from './webhook-state'

const STATUSES = ['pending', 'retrying', 'success', 'failed', 'cancelled'] as const

type Props = View & { id: string; delivery_id: string | undefined }

export function WebhookPage(view: Props) {
  const { api, route, id, delivery_id } = view
  const path = `/webhooks/${id}`
  const webhook = useLive<Webhook>(path, async (_before, signal) => (await api.get<Webhook>(path, { signal })).data)
  const specs = webhookSpecs()
  const deliveries = useRows<Delivery>(api, `${path}/deliveries`, filterOf(route.query, specs))
  const hook = webhook.value
  if (!hook) return <Waiting error={webhook.error} />
  const hrefTo = (more: string[]) => hrefOf(api.organization_id, ['settings', 'webhooks', id, ...more], route.query)
  return (
    <>
      <p>
        <a href={hrefOf(api.organization_id, ['settings', 'webhooks'])}>{t('webhook.back')}</a>
      </p>
      <h2 class="words">{hook.url}</h2>
      <Acts api={api} hook={hook} reload={() => Promise.all([webhook.reload(), deliveries.reload()])} />
      <Filters {...view} specs={specs} label={t('delivery.filter')} />
      <Table
        list={deliveries}
        caption={t('delivery.title')}
        head={[
          t('delivery.made'),
          t('delivery.event'),
          t('field.status'),
          t('delivery.answer'),
          t('delivery.time'),
          t('delivery.attempts'),
          t('delivery.next'),
        ]}
        empty={t('delivery.none')}
        row={(one) => <DeliveryRow one={one} href={hrefTo([one.id])} />}
      />
      {delivery_id && (
        <OneDelivery
          api={api}
          path={`${path}/deliveries/${delivery_id}`}
          onClose={() => {
            go(hrefTo([]))
            void deliveries.reload()
          }}
        />
      )}
    </>
  )
}

function webhookSpecs(): Spec[] {
  const all = { value: '', text: t('mail.all') }
  return [
    {
      kind: 'choice',
      name: 'status',
      label: t('field.status'),
      options: [all, ...STATUSES.map((value) => ({ value, text: t(`delivery.${value}`) }))],
    },
    {
      kind: 'choice',
      name: 'event',
      label: t('delivery.event'),
      options: [all, ...EVENTS.map((value) => ({ value, text: value }))],
    },
  ]
}

type ActsProps = Pick<View, 'api'> & { hook: Webhook; reload: () => Promise<unknown> }

function Acts({ api, hook, reload }: ActsProps) {
  const [is_replaying, setReplaying] = useState(false)
  const path = `/webhooks/${hook.id}`
  const is_on = hook.active && hook.status !== 'failed'
  const test = async () => {
    const { data } = await api.post<Delivery>(`${path}/test`)
    if (data.status === 'success') tell(t('webhook.test_ok', { code: data.response_code ?? '' }))
    else tellFault(t('webhook.test_failed', { error: faultWords(data.error) }))
    await reload()
  }
  return (
    <p class="line">
      <WebhookState hook={hook} />
      {hook.failure_count > 0 && <span class="hint">{t('webhook.failures', { count: hook.failure_count })}</span>}
      <Action run={test} disabled={!is_on}>
        {t('webhook.test')}
      </Action>
      <Button text={t('webhook.replay')} onClick={() => setReplaying(true)} />
      <Action
        kind={is_on ? 'quiet' : 'main'}
        run={async () => {
          await api.patch(path, { active: !is_on })
          await reload()
        }}
      >
        {t(is_on ? 'webhook.switch_off' : 'webhook.enable')}
      </Action>
      {is_replaying && <Replay api={api} hook={hook} reload={reload} onClose={() => setReplaying(false)} />}
    </p>
  )
}

function DeliveryRow({ one, href }: { one: Delivery; href: string }) {
  return (
    <>
      <td>
        <a href={href}>
          <Time at={one.created_at} />
        </a>
      </td>
      <td>{one.event}</td>
      <td>
        <Dot kind={DELIVERY_DOT[one.status]}>{t(`delivery.${one.status}`)}</Dot>
      </td>
      <td class="wide">{one.response_code ?? faultWords(one.error)}</td>
      <td class="number">{one.response_time_ms === null ? '' : `${one.response_time_ms} ms`}</td>
      <td class="number">{one.attempts}</td>
      <td>{one.next_attempt_at && <Time at={one.next_attempt_at} />}</td>
    </>
  )
}
