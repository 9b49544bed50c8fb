/** Macros: prepared answers, and what they change of a ticket. */
import type { Macro } from '../../../desk/macros/model'
import { formatSpec, withFormat } from '../forms/format-field'
import type { Body, Option, Spec } from '../forms/spec'
import { useNames } from '../names'
import type { View } from '../view-types'
import { t } from '../words/catalogue'
import { Managed } from './managed'

const STATUSES = ['open', 'pending', 'resolved', 'closed'] as const
const PRIORITIES = ['low', 'normal', 'high', 'urgent'] as const
const NOBODY = 'nobody'

export function MacroSettings({ api }: View) {
  const users = useNames(api, 'users') ?? []
  const labels = useNames(api, 'labels') ?? []
  const teams = (useNames(api, 'teams') ?? []).map(({ id, name }) => ({ value: id, text: name }))
  const people = users.filter(({ active }) => active).map(({ id, name }) => ({ value: id, text: name }))
  const label_options = labels.map(({ id, name }) => ({ value: id, text: name }))
  return (
    <Managed<Macro>
      api={api}
      path="/macros"
      caption={t('settings.macros')}
      adding={t('macro.add')}
      empty={t('macro.none')}
      head={[t('field.name'), t('macro.text'), t('macro.changes')]}
      nameOf={({ name }) => name}
      cells={({ name, body, is_internal, changes }) => (
        <>
          <td dir="auto">{name}</td>
          <td class="wide" dir="auto">
            <span class="excerpt">{body}</span>
            {body !== null && <small>{t(is_internal ? 'macro.note' : 'macro.answer')}</small>}
          </td>
          <td class="wide" dir="auto">
            {changeWords(changes, [...people, ...label_options, ...teams]).join(', ')}
          </td>
        </>
      )}
      specs={() => specsOf(people, label_options, teams)}
      startOf={(one) => one && { ...one, ...flat(one.changes) }}
      toBody={(body, one) => nested(withFormat(body, ['body', 'format'], one))}
      deleteMeans={() => t('macro.delete_means')}
    />
  )
}

function specsOf(people: Option[], labels: Option[], teams: Option[]): Spec[] {
  const unchanged = { value: '', text: t('macro.unchanged') }
  return [
    { kind: 'text', name: 'name', label: t('field.name'), max: 255, required: true },
    {
      kind: 'area',
      name: 'body',
      label: t('macro.text'),
      hint: t('macro.text_hint', { variable: '{{contact.name}}' }),
      max: 100_000,
      rows: 6,
    },
    formatSpec('format'),
    { kind: 'check', name: 'is_internal', label: t('macro.is_note') },
    {
      kind: 'choice',
      name: 'changes.status',
      label: t('field.status'),
      options: [unchanged, ...STATUSES.map((value) => ({ value, text: t(`status.${value}`) }))],
    },
    {
      kind: 'choice',
      name: 'changes.priority',
      label: t('field.priority'),
      options: [unchanged, ...PRIORITIES.map((value) => ({ value, text: t(`priority.${value}`) }))],
    },
    {
      kind: 'choice',
      name: 'changes.assignee_id',
      label: t('field.assignee'),
      options: [unchanged, { value: NOBODY, text: t('macro.nobody') }, ...people],
    },
    {
      kind: 'choice',
      name: 'changes.team_id',
      label: t('field.team'),
      options: [unchanged, { value: NOBODY, text: t('macro.no_team') }, ...teams],
    },
    { kind: 'many', name: 'changes.add_label_ids', label: t('macro.add_labels'), options: labels },
    { kind: 'custom', name: 'changes.custom', label: t('field.custom'), hint: t('macro.custom_hint') },
  ]
}

/** Null unassigns, or takes a ticket from its team: in the form it is a word of its own. */
function flat(changes: Macro['changes']): Body {
  const worded = Object.entries(changes).map(([name, value]) => [name, value === null ? NOBODY : value])
  return { changes: Object.fromEntries(worded) }
}

/** The changes that a form holds: fields that stay as they are, are left out. */
function nested(body: Body): Body {
  if (!body.changes) return body
  const { add_label_ids, custom, ...words } = body.changes as { add_label_ids: string[]; custom: object } & Body
  const chosen = Object.entries(words).filter(([, value]) => value !== null)
  return {
    ...body,
    changes: {
      ...Object.fromEntries(chosen.map(([name, value]) => [name, value === NOBODY ? null : value])),
      ...(add_label_ids.length > 0 && { add_label_ids }),
      ...(Object.keys(custom).length > 0 && { custom }),
    },
  }
}

function changeWords(changes: Macro['changes'], names: Option[]) {
  const { status, priority, assignee_id, team_id, add_label_ids = [], custom } = changes
  const nameOf = (id: string) => names.find(({ value }) => value === id)?.text ?? t('macro.somebody_gone')
  return [
    status && t(`status.${status}`),
    priority && t(`priority.${priority}`),
    assignee_id === null && t('macro.nobody'),
    assignee_id && nameOf(assignee_id),
    team_id === null && t('macro.no_team'),
    team_id && nameOf(team_id),
    ...add_label_ids.map(nameOf),
    ...Object.keys(custom ?? {}),
  ].filter((word) => typeof word === 'string')
}
