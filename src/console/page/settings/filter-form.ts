/** The fields of a filter, of webhooks and of rules: which events of which tickets. */
import type { WebhookFilter } from '../../../delivery/webhooks/model'
import type { Api } from '../api'
import { findCompanies, nameCompany } from '../customers/find'
import type { Body, Find, Option, Spec } from '../forms/spec'
import { useNames } from '../names'
import { t } from '../words/catalogue'

const STATUSES = ['open', 'pending', 'resolved', 'closed'] as const
const PRIORITIES = ['low', 'normal', 'high', 'urgent'] as const
const LISTS = ['status', 'priority', 'label_ids', 'mailbox_ids', 'team_ids', 'company_ids']

/** Labels, mailboxes and teams that a filter may name, and how companies are found. */
export type FilterNames = {
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

/** The fields of a filter of tickets alone. */
export function ticketFilterSpecs({ labels, mailboxes, teams, findCompany, nameOf }: FilterNames): Spec[] {
  const none: Spec[] = []
  return [
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
  ]
}

export function eventFilterSpecs(names: FilterNames): Spec[] {
  return [
    {
      kind: 'many',
      name: 'filter.status',
      label: t('webhook.by_status'),
      hint: t('webhook.filter_hint'),
      options: STATUSES.map((value) => ({ value, text: t(`status.${value}`) })),
    },
    ...ticketFilterSpecs(names),
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
    {
      kind: 'choice',
      name: 'filter.direction',
      label: t('webhook.by_direction'),
      options: [
        { value: '', text: t('webhook.everybody') },
        { value: 'inbound', text: t('webhook.inbound_only') },
        { value: 'outbound', text: t('webhook.outbound_only') },
      ],
    },
  ]
}

/** Leaves out the lists of a filter of tickets that are empty. */
export function withTicketFilter(body: Body): Body {
  return body.filter ? { ...body, filter: chosenOf(body.filter as Body) } : body
}

function chosenOf(filter: Body): Body {
  const chosen = LISTS.filter((name) => (filter[name] as string[] | undefined)?.length)
  return Object.fromEntries(chosen.map((name) => [name, filter[name]]))
}

/** Leaves out a filter that holds nothing. */
export function withFilter(body: Body, one: { filter: WebhookFilter | null } | undefined): Body {
  const filter = body.filter as Body | undefined
  if (!filter) return body
  const kept = {
    ...chosenOf(filter),
    ...(filter.is_internal !== null && { is_internal: filter.is_internal === 'true' }),
    ...(filter.direction !== null && { direction: filter.direction }),
  }
  const none = one ? null : undefined
  return { ...body, filter: Object.keys(kept).length > 0 ? kept : none }
}
