/** The state of a webhook in a word. */
import type { Webhook } from '../../../delivery/webhooks/model'
import { Dot } from '../ui/marks'
import { t } from '../words/catalogue'

export function WebhookState({ hook }: { hook: Webhook }) {
  if (!hook.active) return <Dot kind="closed">{t('webhook.off')}</Dot>
  return hook.status === 'failed' ? (
    <Dot kind="failed">{t('webhook.failed')}</Dot>
  ) : (
    <Dot kind="sent">{t('webhook.active')}</Dot>
  )
}

const FAULTS = ['blocked_address', 'connect', 'dns', 'protocol', 'reset', 'status', 'timeout', 'tls'] as const

/** Why a delivery failed, in words. */
export function faultWords(error: string | null): string {
  const known = FAULTS.find((fault) => fault === error)
  return known ? t(`delivery.fault_${known}`) : (error ?? '')
}
