/** The list of time entries with its totals, the CSV file, and the changes of an entry. */
import { useState } from 'preact/hooks'
import type { TimeEntry, Totals } from '../../../desk/time-entries/model'
import type { User } from '../../../people/users/model'
import { query } from '../api'
import { csvForm, money } from '../customers/amounts'
import { findCompanies } from '../customers/find'
import { download } from '../download'
import { Doom } from '../forms/doom'
import { Filters, filterOf } from '../forms/filters'
import type { Spec } from '../forms/spec'
import { useRows } from '../lists'
import { useNames } from '../names'
import { hrefOf } from '../route'
import { Table } from '../rows'
import { Action, Button } from '../ui/buttons'
import { day, duration } from '../ui/measures'
import { tell } from '../ui/toasts'
import { isAdmin, type View } from '../view-types'
import { t } from '../words/catalogue'
import { EntryForm } from './entry-form'

type Meta = { next_cursor: string | null; total?: number; totals?: Totals }

export function TimeEntries(view: View) {
  const { api, route } = view
  const users = useNames(api, 'users') ?? []
  const [open, setOpen] = useState<'new' | TimeEntry>()
  const [doomed, setDoomed] = useState<TimeEntry>()
  const specs = filterSpecs(view, users)
  const list = useRows<TimeEntry, Meta>(api, '/time-entries', filterOf(route.query, specs), ({ type }) =>
    type.startsWith('time_entry.'),
  )
  const [from, to] = [route.query.get('date_from') ?? '', route.query.get('date_to') ?? '']
  const csv = () =>
    download(
      api,
      `/time-entries/export${query({ date_from: from, date_to: to, ...csvForm() })}`,
      `${['time', from, to].filter(Boolean).join('-')}.csv`,
    )
  return (
    <>
      <p class="line">
        <Button kind="main" text={t('time.log')} onClick={() => setOpen('new')} />
        <Action run={csv}>{t('time.csv')}</Action>
        <span class="hint">{t('time.csv_hint')}</span>
      </p>
      <Filters {...view} specs={specs} label={t('time.filter')} />
      {list.meta?.totals && <Sum totals={list.meta.totals} count={list.meta.total ?? 0} />}
      <Table
        list={list}
        caption={t('time.entries')}
        head={[
          t('time.day'),
          t('field.ticket'),
          t('time.who'),
          t('time.what'),
          t('time.duration'),
          t('time.amount'),
          t('list.acts'),
        ]}
        empty={t('time.empty')}
        row={(one) => <Row {...view} entry={one} onEdit={() => setOpen(one)} onDelete={() => setDoomed(one)} />}
      />
      {open && (
        <EntryForm
          {...view}
          users={users}
          entry={open === 'new' ? undefined : open}
          onClose={() => setOpen(undefined)}
          onSaved={list.reload}
        />
      )}
      {doomed && <Deletion api={api} entry={doomed} onClose={() => setDoomed(undefined)} reload={list.reload} />}
    </>
  )
}

type DeletionProps = Pick<View, 'api'> & { entry: TimeEntry; onClose: () => void; reload: () => Promise<void> }

function Deletion({ api, entry, onClose, reload }: DeletionProps) {
  const { id, duration_minutes, ticket } = entry
  return (
    <Doom
      title={t('time.delete', { duration: duration(duration_minutes), code: ticket.code })}
      answer={t('act.delete')}
      onClose={onClose}
      run={async () => {
        await api.delete(`/time-entries/${id}`)
        tell(t('time.deleted'))
        await reload()
      }}
    >
      {t('doom.no_way_back')}
    </Doom>
  )
}

function filterSpecs({ api, route }: View, users: User[]): Spec[] {
  const company_id = route.query.get('company_id')
  return [
    { kind: 'date', name: 'date_from', label: t('time.from') },
    { kind: 'date', name: 'date_to', label: t('time.to') },
    {
      kind: 'choice',
      name: 'user_id',
      label: t('time.who'),
      options: [{ value: '', text: t('time.everybody') }, ...users.map(({ id, name }) => ({ value: id, text: name }))],
    },
    {
      kind: 'pick',
      name: 'company_id',
      label: t('field.company'),
      find: findCompanies(api),
      shown: company_id ? { value: company_id, text: t('time.chosen_company') } : undefined,
    },
    {
      kind: 'choice',
      name: 'billable',
      label: t('time.billable'),
      options: [
        { value: '', text: t('time.both') },
        { value: 'true', text: t('time.billable_only') },
        { value: 'false', text: t('time.unbilled_only') },
      ],
    },
  ]
}

function Sum({ totals, count }: { totals: Totals; count: number }) {
  return (
    <dl class="sums" aria-label={t('time.sums')}>
      <div>
        <dt>{t('time.entries')}</dt>
        <dd>{count}</dd>
      </div>
      <div>
        <dt>{t('time.duration')}</dt>
        <dd>{duration(totals.duration_minutes)}</dd>
      </div>
      {totals.by_currency.map(({ currency, billable_amount }) => (
        <div key={currency}>
          <dt>{t('time.billable_amount', { currency })}</dt>
          <dd>{money(billable_amount, currency)}</dd>
        </div>
      ))}
    </dl>
  )
}

type RowProps = View & { entry: TimeEntry; onEdit: () => void; onDelete: () => void }

function Row({ api, me, organization, entry, onEdit, onDelete }: RowProps) {
  const { ticket, user, duration_minutes, description, billable, amount, currency, date } = entry
  const may_change = isAdmin(organization) || user.id === me.id
  return (
    <>
      <td class="number">{day(date)}</td>
      <td class="wide" dir="auto">
        <a href={hrefOf(api.organization_id, ['tickets', ticket.id])}>
          <span class="code">{ticket.code}</span> {ticket.subject}
        </a>
      </td>
      <td dir="auto">{user.name}</td>
      <td class="wide" dir="auto">
        {description}
      </td>
      <td class="number">{duration(duration_minutes)}</td>
      <td class="number">
        {billable ? amount !== null && money(amount, currency) : <span class="hint">{t('time.not_billable')}</span>}
      </td>
      <td class="buttons">
        {may_change && (
          <>
            <Button text={t('act.edit')} label={t('time.edit_of', { code: ticket.code })} onClick={onEdit} />
            <Button text={t('act.delete')} label={t('time.delete_of', { code: ticket.code })} onClick={onDelete} />
          </>
        )}
      </td>
    </>
  )
}
