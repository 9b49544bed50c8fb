/** One delivery of a webhook: its attempts, what was sent and what came back. Answers of receivers are text only. */
import type { DeliveryDetail } from '../../../delivery/webhooks/model'
import type { Api } from '../api'
import { withTurnsShown } from '../direction'
import { useLive } from '../live'
import { Action, Button } from '../ui/buttons'
import { Dialog } from '../ui/dialogs'
import { Dot } from '../ui/marks'
import { Time } from '../ui/measures'
import { Waiting } from '../ui/placeholders'
import { tell } from '../ui/toasts'
import { t } from '../words/catalogue'
import { faultWords } from './webhook-state'

export const DELIVERY_DOT = {
  success: 'sent',
  failed: 'failed',
  retrying: 'queued',
  pending: 'queued',
  cancelled: 'closed',
}

export function OneDelivery({ api, path, onClose }: { api: Api; path: string; onClose: () => void }) {
  const live = useLive<DeliveryDetail>(
    path,
    async (_before, signal) => (await api.get<DeliveryDetail>(path, { signal })).data,
  )
  const retry = async () => {
    await api.post(`${path}/retry`)
    tell(t('delivery.sent_again'))
    await live.reload()
  }
  return (
    <Dialog title={t('delivery.one')} onClose={onClose}>
      {live.value ? <Known one={live.value} /> : <Waiting error={live.error} />}
      <p class="buttons">
        {live.value && (
          <Action kind="main" run={retry}>
            {t('delivery.send_again')}
          </Action>
        )}
        <Button text={t('ui.close')} onClick={onClose} />
      </p>
    </Dialog>
  )
}

function Known({ one }: { one: DeliveryDetail }) {
  return (
    <>
      <p class="line">
        <Dot kind={DELIVERY_DOT[one.status]}>{t(`delivery.${one.status}`)}</Dot> {one.event}{' '}
        <Time at={one.created_at} />
      </p>
      <h3>{t('delivery.attempts')}</h3>
      <ol>
        {one.attempt_log.map(({ attempt, started_at, response_code, response_time_ms, error, response_head }) => (
          <li key={attempt}>
            <Time at={started_at} />: {response_code ?? faultWords(error)} ({response_time_ms} ms)
            {response_head && <Text text={response_head} />}
          </li>
        ))}
      </ol>
      <h3>{t('delivery.body')}</h3>
      <Text text={one.request_body ? JSON.stringify(JSON.parse(one.request_body), null, 2) : ''} />
    </>
  )
}

function Text({ text }: { text: string }) {
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a long one is scrolled by keys
  return <pre tabIndex={0}>{withTurnsShown(text)}</pre>
}
