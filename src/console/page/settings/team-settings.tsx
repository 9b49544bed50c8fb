/** Teams: who is in them, and how they give tickets to their members. */
import type { Team } from '../../../desk/teams/model'
import type { Option, Spec } from '../forms/spec'
import { useNames } from '../names'
import { hrefOf } from '../route'
import type { View } from '../view-types'
import { t } from '../words/catalogue'
import { Managed } from './managed'

const ASSIGNMENTS = ['none', 'round_robin', 'least_open'] as const

export function TeamSettings({ api }: View) {
  const users = useNames(api, 'users') ?? []
  const people = users.flatMap(({ id, name, status }) => (status === 'invited' ? [] : { value: id, text: name }))
  const nameOf = (id: string) => people.find(({ value }) => value === id)?.text
  return (
    <Managed<Team>
      api={api}
      path="/teams"
      caption={t('settings.teams')}
      adding={t('team.add')}
      empty={t('team.none')}
      head={[t('field.name'), t('team.members'), t('team.assign'), t('team.capacity')]}
      nameOf={({ name }) => name}
      cells={({ id, name, member_ids, assign, capacity }) => (
        <>
          <td dir="auto">
            <a href={hrefOf(api.organization_id, ['tickets'], new URLSearchParams({ team_id: id }))}>{name}</a>
          </td>
          <td class="wide" dir="auto">
            {member_ids.flatMap((one) => nameOf(one) ?? []).join(', ')}
          </td>
          <td>{t(`team.assign_${assign}`)}</td>
          <td class="number">{capacity}</td>
        </>
      )}
      specs={() => teamSpecs(people)}
      startOf={(one) => one ?? { assign: 'none' }}
      deleteMeans={() => t('team.delete_means')}
    />
  )
}

function teamSpecs(people: Option[]): Spec[] {
  return [
    { kind: 'text', name: 'name', label: t('field.name'), max: 255, required: true },
    { kind: 'many', name: 'member_ids', label: t('team.members'), options: people },
    {
      kind: 'choice',
      name: 'assign',
      label: t('team.assign'),
      hint: t('team.assign_hint'),
      options: ASSIGNMENTS.map((value) => ({ value, text: t(`team.assign_${value}`) })),
    },
    { kind: 'number', name: 'capacity', label: t('team.capacity'), hint: t('team.capacity_hint'), min: 1 },
  ]
}
