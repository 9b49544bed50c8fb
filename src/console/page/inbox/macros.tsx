/** Macros in the composer: one is chosen, its text is put in, what it changes is shown, and all of it is done. */
import { Zap } from 'lucide'
import { useState } from 'preact/hooks'
import type { Macro, MacroPreview } from '../../../desk/macros/model'
import type { Message } from '../../../desk/messages/model'
import { Action, Button } from '../ui/buttons'
import { Icon } from '../ui/icons'
import { Picker } from '../ui/menus'
import { attempt, tell } from '../ui/toasts'
import type { ComposerProps, Names } from '../view-types'
import { refusalText, t } from '../words/catalogue'
import { joined } from './text-format'
import type { Writing } from './writing'

/** A macro that was chosen, and what it would do to the ticket. */
type Chosen = { macro: Macro; preview: MacroPreview }

/**
 * Puts the text of a macro into the composer, and does all of it.
 * @param send sends what is written; answers false when something has to be looked at first
 */
export function useMacro(
  { api, ticket, names, reload }: ComposerProps,
  kinds: readonly [Writing, Writing],
  choose: (is_note: boolean) => void,
  send: () => Promise<boolean>,
) {
  const [chosen, setChosen] = useState<Chosen>()
  const begin = (id: string) =>
    attempt(async () => {
      const macro = names.macros.find((one) => one.id === id)!
      const { data: preview } = await api.post<MacroPreview>(`/macros/${id}/preview`, { ticket_id: ticket.id })
      setChosen({ macro, preview })
      if (preview.body === null) return
      const writing = kinds[preview.is_internal ? 1 : 0]
      // The text typed before stays.
      writing.write({ text: joined(writing.cell.value.text, preview.body) }, ticket.messages)
      choose(preview.is_internal)
    })
  const makeChanges = async ({ changes }: MacroPreview) => {
    if (Object.keys(changes).length === 0) return
    const { data } = await api.post<Result[]>('/tickets/bulk', { ids: [ticket.id], changes })
    const error = data[0]?.error
    if (error) throw t('macro.not_changed', { fault: refusalText(error.code, error.message) })
  }
  const applyNow = () => api.post(`/macros/${chosen!.macro.id}/apply`, { ticket_id: ticket.id })
  const apply = async () => {
    const { macro, preview } = chosen!
    const writing = kinds[preview.is_internal ? 1 : 0]
    const { text, files, seen } = writing.cell.value
    const is_its_own =
      text === preview.body && files.length === 0 && ticket.messages.every(({ id }) => seen.includes(id))
    if (preview.body === null) await applyNow()
    else if (is_its_own) await insteadOf(writing, ticket.messages, applyNow)
    else {
      // The text is sent as the person left it.
      if (!writing.isEmpty && !(await send())) return
      await makeChanges(preview)
    }
    setChosen(undefined)
    tell(t('macro.done', { macro: macro.name }))
    await reload()
  }
  return { chosen, begin, apply, drop: () => setChosen(undefined) }
}

/** Does what makes a draft needless; the text comes back when that fails. */
async function insteadOf(writing: Writing, messages: Message[], run: () => Promise<unknown>): Promise<void> {
  const { text } = writing.cell.value
  writing.write({ text: '' }, messages)
  try {
    await writing.save()
    await run()
  } catch (error) {
    writing.write({ text }, messages)
    throw error
  }
}

type Result = { error: { code: string; message: string } | null }

type ChosenProps = {
  names: Names
  chosen: Chosen | undefined
  apply: () => Promise<void>
  drop: () => void
  is_off: boolean
}

/** The changes of the chosen macro; nothing when none is. */
export function ChosenMacro({ names, chosen, apply, drop, is_off }: ChosenProps) {
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

type ChoiceProps = { macros: Macro[]; choose: (id: string) => Promise<unknown>; is_off: boolean }

/** The choice of a macro; nothing when there is none. */
export function MacroChoice({ macros, choose, is_off }: ChoiceProps) {
  if (macros.length === 0) return null
  return (
    <Picker
      label={t('macro.choose')}
      button={<Icon of={Zap} />}
      act={{ text: t('macro.choose'), icon: Zap, keys: 'i' }}
      options={macros.map(({ id, name }) => ({ value: id, text: name }))}
      onChoose={choose}
      disabled={is_off}
    />
  )
}

function previewWords({ body, is_internal, changes }: MacroPreview, names: Names): string[] {
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
