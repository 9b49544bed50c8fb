/** Several tickets at once: what is selected, and what is done to it. */
import { Flag, Tag, UserRound, Users, X } from 'lucide'
import { useState } from 'preact/hooks'
import type { Ticket } from '../../../desk/tickets/model'
import { useActs } from '../acts'
import type { Api } from '../api'
import { useNames } from '../names'
import { Button } from '../ui/buttons'
import { Question } from '../ui/dialogs'
import { Icon } from '../ui/icons'
import { STATUS_ICONS } from '../ui/marks'
import { Menu, Picker } from '../ui/menus'
import { attempt, tell } from '../ui/toasts'
import type { View } from '../view-types'
import { t } from '../words/catalogue'
import { type All, changeAll } from './change-all'
import { type BulkChanges, changeTickets } from './change-tickets'
import { PRIORITIES, STATUSES, usePeople, useTeams } from './choices'

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
  return {
    selected,
    has_all: selected.length === Math.min(rows.length, MOST),
    has: (id: string) => chosen.has(id),
    select,
    selectAll,
    clear: () => setChosen(new Set()),
  }
}

type BarProps = View & {
  selection: Selection
  /** All tickets of the list, when there are more than can be selected. */
  all: All | undefined
}

/** The deeds on the selected tickets, or on all of the list. */
export function SelectionBar({ api, me, selection, all }: BarProps) {
  const { selected, clear } = selection
  const [is_all, setAll] = useState(false)
  const [asked, setAsked] = useState<BulkChanges>()
  const meant = selection.has_all && all && all.total > selected.length ? all : undefined
  const change = async (changes: BulkChanges) => {
    if (is_all && meant) return setAsked(changes)
    const before = selected
    const undo = await changeTickets(api, before, changes)
    clear()
    tell(t('inbox.changed', { count: before.length }), undo)
  }
  useActs([{ text: t('inbox.clear_selection'), icon: X, keys: 'Escape', run: clear }], t('frame.group_list'))
  return (
    <div class="selection" role="toolbar" aria-label={t('inbox.selection')}>
      <strong>{t('inbox.selected', { count: is_all && meant ? meant.total : selected.length })}</strong>
      {meant && !is_all && (
        <Button kind="bare" text={t('inbox.all_of_list', { count: meant.total })} onClick={() => setAll(true)} />
      )}
      <Menu
        label={t('ticket.status')}
        button={<Icon of={STATUS_ICONS.resolved} />}
        act={{ text: t('ticket.status'), keys: 's', group: t('frame.group_list') }}
        items={STATUSES.map((status) => ({
          text: t(`status.${status}`),
          icon: STATUS_ICONS[status],
          run: () => change({ status }),
        }))}
      />
      <Picker
        label={t('ticket.assignee')}
        button={<Icon of={UserRound} />}
        act={{ text: t('ticket.assignee'), keys: 'a', group: t('frame.group_list') }}
        useOptions={() => usePeople(api, me, undefined)}
        onChoose={(id) => change({ assignee_id: id || null })}
      />
      <TeamPicker api={api} change={change} />
      <Picker
        label={t('ticket.add_label')}
        button={<Icon of={Tag} />}
        act={{ text: t('ticket.add_label'), keys: 'l', group: t('frame.group_list') }}
        useOptions={() => useNames(api, 'labels')?.map(({ id, name }) => ({ value: id, text: name }))}
        onChoose={(id) => change({ add_label_ids: [id] })}
      />
      <Menu
        label={t('ticket.priority')}
        button={<Icon of={Flag} />}
        act={{ text: t('ticket.priority'), keys: 'p', group: t('frame.group_list') }}
        items={PRIORITIES.map((priority) => ({ text: t(`priority.${priority}`), run: () => change({ priority }) }))}
      />
      <span class="grow" />
      <Button kind="bare" icon={X} label={t('inbox.clear_selection')} onClick={clear} />
      {asked && meant && (
        <AllQuestion api={api} all={meant} changes={asked} clear={clear} onClose={() => setAsked(undefined)} />
      )}
    </div>
  )
}

function TeamPicker({ api, change }: { api: Api; change: (changes: BulkChanges) => unknown }) {
  return (
    <Picker
      label={t('field.team')}
      button={<Icon of={Users} />}
      act={{ text: t('field.team'), keys: 't', group: t('frame.group_list') }}
      useOptions={() => useTeams(api, undefined)}
      onChoose={(id) => change({ team_id: id || null })}
    />
  )
}

type QuestionProps = { api: Api; all: All; changes: BulkChanges; clear: () => void; onClose: () => void }

function AllQuestion({ api, all, changes, clear, onClose }: QuestionProps) {
  const run = async () => {
    onClose()
    clear()
    void attempt(() => changeAll(api, all, changes))
  }
  return (
    <Question
      title={t('inbox.change_all_question', { count: all.total })}
      answer={t('inbox.change_all')}
      onClose={onClose}
      run={run}
    >
      {t('inbox.change_all_means')}
    </Question>
  )
}
