/** Several tickets at once: what is selected, and what is done to it. */
import { Flag, Tag, UserRound, X } from 'lucide'
import { useState } from 'preact/hooks'
import type { Ticket } from '../../../desk/tickets/model'
import { useActs } from '../acts'
import { Button } from '../ui/buttons'
import { Icon } from '../ui/icons'
import { STATUS_ICONS } from '../ui/marks'
import { Menu, Picker } from '../ui/menus'
import { tell } from '../ui/toasts'
import type { Names, View } from '../view-types'
import { t } from '../words/catalogue'
import { type BulkChanges, changeTickets } from './change-tickets'
import { PRIORITIES, peopleOptions, STATUSES } from './choices'

/** As many as the service takes in one request. */
const MOST = 100

type Selection = ReturnType<typeof useSelection>

/** Which of the rows are selected. Rows that leave the list leave the selection. */
export function useSelection(rows: Ticket[]) {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const [last, setLast] = useState<string>()
  const selected = rows.filter(({ id }) => chosen.has(id))
  const select = (id: string, is_range = false) => {
    const next = new Set(selected.map(({ id }) => id))
    const [from, to] = [last ?? id, id].map((one) => rows.findIndex((row) => row.id === one)) as [number, number]
    if (is_range && from >= 0) {
      for (const row of rows.slice(Math.min(from, to), Math.max(from, to) + 1)) next.add(row.id)
    } else if (!next.delete(id)) next.add(id)
    setLast(id)
    setChosen(new Set([...next].slice(0, MOST)))
  }
  const selectAll = () => setChosen(new Set(rows.slice(0, MOST).map(({ id }) => id)))
  return { selected, has: (id: string) => chosen.has(id), select, selectAll, clear: () => setChosen(new Set()) }
}

type BarProps = View & { names: Names; selection: Selection; reload: () => Promise<void> }

/** The deeds on the selected tickets. */
export function SelectionBar({ api, me, names, selection, reload }: BarProps) {
  const { selected, clear } = selection
  const change = async (changes: BulkChanges) => {
    const before = selected
    const undo = await changeTickets(api, before, changes)
    clear()
    await reload()
    tell(t('inbox.changed', { count: before.length }), async () => {
      await undo()
      await reload()
    })
  }
  useActs([{ text: t('inbox.clear_selection'), icon: X, keys: 'Escape', run: clear }])
  return (
    <div class="selection" role="toolbar" aria-label={t('inbox.selection')}>
      <strong>{t('inbox.selected', { count: selected.length })}</strong>
      <Menu
        label={t('ticket.status')}
        button={<Icon of={STATUS_ICONS.resolved} />}
        act={{ text: t('ticket.status'), keys: 's' }}
        items={STATUSES.map((status) => ({
          text: t(`status.${status}`),
          icon: STATUS_ICONS[status],
          run: () => change({ status }),
        }))}
      />
      <Picker
        label={t('ticket.assignee')}
        button={<Icon of={UserRound} />}
        act={{ text: t('ticket.assignee'), keys: 'a' }}
        options={peopleOptions(names, me, undefined)}
        onChoose={(id) => change({ assignee_id: id || null })}
      />
      <Picker
        label={t('ticket.add_label')}
        button={<Icon of={Tag} />}
        act={{ text: t('ticket.add_label'), keys: 'l' }}
        options={names.labels.map(({ id, name }) => ({ value: id, text: name }))}
        onChoose={(id) => change({ add_label_ids: [id] })}
      />
      <Menu
        label={t('ticket.priority')}
        button={<Icon of={Flag} />}
        act={{ text: t('ticket.priority'), keys: 'p' }}
        items={PRIORITIES.map((priority) => ({ text: t(`priority.${priority}`), run: () => change({ priority }) }))}
      />
      <span class="grow" />
      <Button kind="bare" icon={X} label={t('inbox.clear_selection')} onClick={clear} />
    </div>
  )
}
