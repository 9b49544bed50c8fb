/** Macros in the composer: one is chosen, its text is put in, what it changes is shown, and all of it is done. */
import { Zap } from 'lucide'
import { useState } from 'preact/hooks'
import type { Macro, MacroPreview } from '../../../desk/macros/model'
import type { Api } from '../api'
import { readNames, useNames } from '../names'
import { Action, Button } from '../ui/buttons'
import type { Option } from '../ui/combobox'
import { Icon } from '../ui/icons'
import { Picker } from '../ui/menus'
import { attempt, tell } from '../ui/toasts'
import type { ComposerProps } from '../view-types'
import { t } from '../words/catalogue'
import { changeTickets } from './change-tickets'
import type { After } from './sending'
import { joined } from './text-format'
import type { Writing } from './writing'

/** A macro that was chosen, and what it would do to the ticket. */
type Chosen = { macro: Macro; preview: MacroPreview }

/**
 * Puts the text of a macro into the composer, and does all of it: the text is sent as the person left it.
 * @param send sends what is written, and makes changes; answers false when something has to be looked at first
 */
export function useMacro(
  { api, ticket }: ComposerProps,
  kinds: readonly [Writing, Writing],
  choose: (is_note: boolean) => void,
  send: (after: After) => Promise<boolean>,
) {
  const [chosen, setChosen] = useState<Chosen>()
  const begin = (id: string) =>
    attempt(async () => {
      const macro = (await readNames(api, 'macros')).find((one) => one.id === id)!
      const { data: preview } = await api.post<MacroPreview>(`/macros/${id}/preview`, { ticket_id: ticket.id })
      setChosen({ macro, preview })
      const { body, format } = preview
      if (body === null || format === null) return
      const writing = kinds[preview.is_internal ? 1 : 0]
      // The text typed before stays.
      writing.write(joined(writing.cell.value, { text: body, format }), ticket.messages)
      choose(preview.is_internal)
    })
  const apply = async () => {
    const { macro, preview } = chosen!
    const { body, changes } = preview
    if (body !== null) {
      if (!(await send({ macro: { name: macro.name, changes } }))) return
    } else {
      const has_changes = Object.keys(changes).length > 0
      const undo = has_changes ? await changeTickets(api, [ticket], changes) : undefined
      tell(t('macro.done', { macro: macro.name }), undo && { undo })
    }
    setChosen(undefined)
  }
  return { chosen, begin, apply, drop: () => setChosen(undefined) }
}

type ChosenProps = {
  api: Api
  chosen: Chosen | undefined
  apply: () => Promise<void>
  drop: () => void
  is_off: boolean
}

/** The changes of the chosen macro; nothing when none is. */
export function ChosenMacro({ api, chosen, apply, drop, is_off }: ChosenProps) {
  const names = useChangedNames(api, chosen?.preview.changes)
  if (!chosen) return null
  return (
    <p class="kept">
      <span>
        <strong dir="auto">{chosen.macro.name}</strong>:{' '}
        {previewWords(chosen.preview, names).join(', ') || t('macro.changes_nothing')}
      </span>
      <Action kind="main" run={apply} disabled={is_off}>
        {t('macro.apply')}
      </Action>
      <Button text={t('macro.without')} onClick={drop} />
    </p>
  )
}

type Named = { id: string; name: string }

/** People and labels, if the changes name some. */
function useChangedNames(api: Api, changes: MacroPreview['changes'] | undefined): { users: Named[]; labels: Named[] } {
  const users = useNames(api, 'users', !!changes?.assignee_id)
  const labels = useNames(api, 'labels', !!changes?.add_label_ids?.length)
  return { users: users ?? [], labels: labels ?? [] }
}

type ChoiceProps = { api: Api; choose: (id: string) => Promise<unknown>; is_off: boolean }

/** The choice of a macro; nothing when it is known that there is none. */
export function MacroChoice({ api, choose, is_off }: ChoiceProps) {
  if (useNames(api, 'macros', false)?.length === 0) return null
  return (
    <Picker
      label={t('macro.choose')}
      button={<Icon of={Zap} />}
      act={{ text: t('macro.choose'), icon: Zap, keys: 'i', group: t('composer.write') }}
      useOptions={() => useMacros(api)}
      onChoose={choose}
      disabled={is_off}
    />
  )
}

/** The macros as options. */
export function useMacros(api: Api): Option[] | undefined {
  return useNames(api, 'macros')?.map(({ id, name, body }) => ({ value: id, text: name, hint: body?.slice(0, 40) }))
}

function previewWords(
  { body, is_internal, changes }: MacroPreview,
  names: ReturnType<typeof useChangedNames>,
): string[] {
  const { status, priority, assignee_id, add_label_ids = [], custom = {} } = changes
  const person = names.users.find(({ id }) => id === assignee_id)
  const labels = add_label_ids.map(
    (id) => names.labels.find((label) => label.id === id)?.name ?? t('macro.deleted_label'),
  )
  return [
    body !== null && t(is_internal ? 'macro.adds_note' : 'macro.sends'),
    status && t('macro.status', { status: t(`status.${status}`) }),
    priority && t('macro.priority', { priority: t(`priority.${priority}`) }),
    assignee_id === null && t('macro.assigns', { name: t('ticket.nobody') }),
    assignee_id && t('macro.assigns', { name: person?.name ?? t('macro.somebody_left') }),
    labels.length > 0 && t('macro.labels', { labels: labels.join(', ') }),
    ...Object.keys(custom ?? {}).map((name) => t('macro.sets', { field: name })),
  ].filter((word) => typeof word === 'string')
}
