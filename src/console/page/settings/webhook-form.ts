/** The form of a webhook: where it sends, which events, and of which tickets. */
import type { Webhook } from '../../../delivery/webhooks/model'
import type { Body, Spec } from '../forms/spec'
import { t } from '../words/catalogue'
import { eventFilterSpecs, type FilterNames } from './filter-form'

/** The events by what they are about. */
const GROUPS = {
  tickets:
    'created updated deleted assigned status_changed erased merged unmerged split rated sla_due_soon sla_breached'
      .split(' ')
      .map((what) => `ticket.${what}`),
  messages: 'created deleted email_sent email_failed email_bounced erased'.split(' ').map((what) => `message.${what}`),
  customers: ['contact', 'company'].flatMap(changesOf),
  work: ['label', 'time_entry'].flatMap(changesOf),
  organization: ['inbound_message.filed', 'organization.imported'],
}

function changesOf(thing: string): string[] {
  return ['created', 'updated', 'deleted'].map((what) => `${thing}.${what}`)
}

export const EVENTS = Object.values(GROUPS).flat()
export const EVENT_OPTIONS = () =>
  Object.entries(GROUPS).flatMap(([name, events]) =>
    events.map((value) => ({ value, text: value, group: t(`group.${name as keyof typeof GROUPS}`) })),
  )
export function webhookSpecs(names: FilterNames, one: Webhook | undefined): Spec[] {
  return [
    { kind: 'url', name: 'url', label: t('webhook.url'), placeholder: 'https://', max: 2048, required: true },
    {
      kind: 'secret',
      name: 'secret',
      label: t('webhook.secret'),
      hint: t(one?.has_secret ? 'webhook.secret_stays' : 'webhook.secret_hint'),
      max: 255,
    },
    { kind: 'check', name: 'ordered', label: t('webhook.ordered'), hint: t('webhook.ordered_hint') },
    { kind: 'many', name: 'events', label: t('webhook.events'), options: EVENT_OPTIONS() },
    ...eventFilterSpecs(names),
  ]
}

/** The values that the form begins with: a new one gets everything. */
export function webhookValue(one: Webhook | undefined): Body {
  return { events: EVENTS, ...one, filter: { ...one?.filter } }
}
