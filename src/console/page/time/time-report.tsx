/** The report of time: sums by company, person, ticket or day. */
import type { SummaryItem } from '../../../desk/time-entries/model'
import { query } from '../api'
import { money } from '../customers/amounts'
import { Filters, filterOf } from '../forms/filters'
import type { Spec } from '../forms/spec'
import { useLive } from '../live'
import { hrefOf } from '../route'
import { ScrollTable } from '../rows'
import { day as dayOf, duration } from '../ui/measures'
import { Waiting } from '../ui/placeholders'
import type { View } from '../view-types'
import { t } from '../words/catalogue'

const GROUPS = ['company', 'user', 'ticket', 'day'] as const
const EVERY_MS = 60_000

export function TimeReport(view: View) {
  const { api, route } = view
  const specs: Spec[] = [
    {
      kind: 'choice',
      name: 'group_by',
      label: t('time.by'),
      options: GROUPS.map((one) => ({ value: one === 'company' ? '' : one, text: t(`time.by_${one}`) })),
    },
    { kind: 'date', name: 'date_from', label: t('time.from') },
    { kind: 'date', name: 'date_to', label: t('time.to') },
  ]
  const filter = filterOf(route.query, specs)
  const path = `/time-entries/summary${query(filter)}`
  const live = useLive<SummaryItem[]>(
    `${api.organization_id}${path}`,
    async (_before, signal) => (await api.get<SummaryItem[]>(path, { signal })).data,
    EVERY_MS,
    ({ type }) => type.startsWith('time_entry.'),
  )
  const group = GROUPS.find((one) => one === filter.group_by) ?? 'company'
  return (
    <>
      <Filters {...view} specs={specs} label={t('time.filter')} />
      {live.error && <Waiting error={live.error} />}
      {!live.value ? (
        !live.error && <Waiting error={undefined} />
      ) : live.value.length === 0 ? (
        <p class="empty">{t('time.empty')}</p>
      ) : (
        <Sums {...view} items={live.value} group={group} />
      )}
    </>
  )
}

function Sums({ api, items, group }: View & { items: SummaryItem[]; group: (typeof GROUPS)[number] }) {
  const most = Math.max(...items.map(({ total_minutes }) => total_minutes))
  return (
    <ScrollTable caption={t('time.report')}>
      <thead>
        <tr>
          <th scope="col">{t(`time.by_${group}`)}</th>
          <th scope="col">{t('time.duration')}</th>
          <th scope="col">{t('time.of_it_billable')}</th>
          <th scope="col">{t('time.amount')}</th>
        </tr>
      </thead>
      <tbody>
        {items.map((item) => (
          <tr key={`${item.company?.id}${item.user?.id}${item.ticket?.id}${item.day}${item.currency}`}>
            <td class="wide" dir="auto">
              <NameOf item={item} organization_id={api.organization_id} />
            </td>
            <td class="number">
              {duration(item.total_minutes)}
              <meter min={0} max={most} value={item.total_minutes} aria-hidden="true" />
            </td>
            <td class="number">{duration(item.billable_minutes)}</td>
            <td class="number">{money(item.total_amount, item.currency)}</td>
          </tr>
        ))}
      </tbody>
    </ScrollTable>
  )
}

function NameOf({ item, organization_id }: { item: SummaryItem; organization_id: string }) {
  const { company, user, ticket, day } = item
  if (ticket) {
    return (
      <a href={hrefOf(organization_id, ['tickets', ticket.id])}>
        <span class="code">{ticket.code}</span> {ticket.subject}
      </a>
    )
  }
  if (company) return <a href={hrefOf(organization_id, ['companies', company.id])}>{company.name}</a>
  return <>{user?.name ?? (day ? dayOf(day) : t('time.no_company'))}</>
}
