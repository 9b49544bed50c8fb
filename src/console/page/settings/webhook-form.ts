/** The form of a webhook: where it sends, which events, and of which tickets. */
import type { Webhook } from '../../../delivery/webhooks/model'
import type { Api } from '../api'
import { findCompanies, nameCompany } from '../customers/find'
import type { Body, Find, Option, Spec } from '../forms/spec'
import { useNames } from '../names'
import { t } from '../words/catalogue'

/** The events by what they are about. */
const GROUPS = {
  tickets: 'created updated deleted assigned status_changed erased merged unmerged split'
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
const EVENT_OPTIONS = () =>
  Object.entries(GROUPS).flatMap(([name, events]) =>
    events.map((value) => ({ value, text: value, group: t(`group.${name as keyof typeof GROUPS}`) })),
  )
const STATUSES = ['open', 'pending', 'resolved', 'closed'] as const
const PRIORITIES = ['low', 'normal', 'high', 'urgent'] as const
const LISTS = ['status', 'priority', 'label_ids', 'mailbox_ids', 'team_ids', 'company_ids']

/** Labels, mailboxes and teams that a filter may name, and how companies are found. */
type FilterNames = {
  labels: Option[]
  mailboxes: Option[]
  teams: Option[]
  findCompany: Find
  nameOf: (id: string) => Promise<string>
}

export function useFilterNames(api: Api): FilterNames {
  const labels = useNames(api, 'labels') ?? []
  const mailboxes = useNames(api, 'mailboxes') ?? []
  const teams = useNames(api, 'teams') ?? []
  return {
    labels: labels.map(({ id, name }) => ({ value: id, text: name })),
    mailboxes: mailboxes.map(({ id, address }) => ({ value: id, text: address })),
    teams: teams.map(({ id, name }) => ({ value: id, text: name })),
    findCompany: findCompanies(api),
    nameOf: nameCompany(api),
  }
}

export function webhookSpecs(
  { labels, mailboxes, teams, findCompany, nameOf }: FilterNames,
  one: Webhook | undefined,
): Spec[] {
  const none: Spec[] = []
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
    {
      kind: 'many',
      name: 'filter.status',
      label: t('webhook.by_status'),
      hint: t('webhook.filter_hint'),
      options: STATUSES.map((value) => ({ value, text: t(`status.${value}`) })),
    },
    {
      kind: 'many',
      name: 'filter.priority',
      label: t('webhook.by_priority'),
      options: PRIORITIES.map((value) => ({ value, text: t(`priority.${value}`) })),
    },
    ...(labels.length > 0
      ? [{ kind: 'many', name: 'filter.label_ids', label: t('webhook.by_label'), options: labels } as const]
      : none),
    ...(mailboxes.length > 0
      ? [{ kind: 'many', name: 'filter.mailbox_ids', label: t('webhook.by_mailbox'), options: mailboxes } as const]
      : none),
    ...(teams.length > 0
      ? [{ kind: 'many', name: 'filter.team_ids', label: t('webhook.by_team'), options: teams } as const]
      : none),
    { kind: 'picks', name: 'filter.company_ids', label: t('webhook.by_company'), find: findCompany, nameOf },
    {
      kind: 'choice',
      name: 'filter.is_internal',
      label: t('webhook.by_kind'),
      options: [
        { value: '', text: t('webhook.all_messages') },
        { value: 'false', text: t('webhook.public_only') },
        { value: 'true', text: t('webhook.notes_only') },
      ],
    },
  ]
}

/** The values that the form begins with: a new one gets everything. */
export function webhookValue(one: Webhook | undefined): Body {
  return { events: EVENTS, ...one, filter: { ...one?.filter } }
}

/** Leaves out a filter that holds nothing. */
export function webhookBody(body: Body, one: Webhook | undefined): Body {
  const filter = body.filter as Body | undefined
  if (!filter) return body
  const chosen = LISTS.filter((name) => (filter[name] as string[] | undefined)?.length)
  const kept = {
    ...Object.fromEntries(chosen.map((name) => [name, filter[name]])),
    ...(filter.is_internal !== null && { is_internal: filter.is_internal === 'true' }),
  }
  const none = one ? null : undefined
  return { ...body, filter: Object.keys(kept).length > 0 ? kept : none }
}
