/** Members of the organization, and people who are invited. */
import { Ellipsis } from 'lucide'
import { useState } from 'preact/hooks'
import type { User } from '../../../people/users/model'
import type { Api } from '../api'
import { money } from '../customers/amounts'
import { Doom } from '../forms/doom'
import type { Spec } from '../forms/spec'
import { Action } from '../ui/buttons'
import { Icon } from '../ui/icons'
import { Dot } from '../ui/marks'
import { Menu } from '../ui/menus'
import { tell } from '../ui/toasts'
import type { View } from '../view-types'
import { t } from '../words/catalogue'
import { Managed } from './managed'

const DOT = { active: 'sent', invited: 'queued', inactive: 'closed' }

type Undo = { user: User; path: 'second-factor' | 'identity' }

export function People({ api, me }: View) {
  const [undone, setUndone] = useState<Undo>()
  return (
    <>
      <Managed<User>
        api={api}
        path="/users"
        caption={t('settings.people')}
        adding={t('people.invite')}
        empty={t('people.none')}
        head={[t('field.name'), t('people.role'), t('field.hourly_rate'), t('field.status')]}
        nameOf={({ name }) => name}
        cells={({ name, email, role, status, available, hourly_rate, currency }) => (
          <>
            <td class="wide" dir="auto">
              {name}
              <small>{email}</small>
            </td>
            <td>{t(`people.${role}`)}</td>
            <td class="number">{hourly_rate !== null && money(hourly_rate, currency)}</td>
            <td>
              <Dot kind={DOT[status]}>{t(`people.${status}`)}</Dot>
              {status === 'active' && !available && <small>{t('people.is_away')}</small>}
            </td>
          </>
        )}
        specs={specsOf}
        startOf={(one) => one ?? { role: 'agent' }}
        removal="remove"
        deleteMeans={(one) =>
          one.id === me.id ? undefined : t(one.status === 'invited' ? 'people.take_back_means' : 'people.remove_means')
        }
        acts={(user) => <Acts api={api} user={user} is_me={user.id === me.id} onUndo={setUndone} />}
      />
      {undone && (
        <Doom
          title={t(`people.${undone.path}_title`, { name: undone.user.name })}
          answer={t(`people.${undone.path}`)}
          onClose={() => setUndone(undefined)}
          run={async () => {
            await api.delete(`/users/${undone.user.id}/${undone.path}`)
            tell(t('people.undone', { name: undone.user.name }))
          }}
        >
          {t(`people.${undone.path}_means`)}
        </Doom>
      )}
    </>
  )
}

type ActsProps = { api: Api; user: User; is_me: boolean; onUndo: (undo: Undo) => void }

function Acts({ api, user, is_me, onUndo }: ActsProps) {
  const { id, email, name, status } = user
  if (status === 'invited') {
    return (
      <Action
        label={t('people.invite_again_whom', { email })}
        run={async () => {
          await api.post(`/users/${id}/invite`)
          tell(t('people.invited_again', { email }))
        }}
      >
        {t('people.invite_again')}
      </Action>
    )
  }
  if (is_me) return null
  return (
    <Menu
      label={t('act.more_for', { name })}
      button={<Icon of={Ellipsis} />}
      items={[
        { text: t('people.second-factor'), run: () => onUndo({ user, path: 'second-factor' }) },
        { text: t('people.identity'), run: () => onUndo({ user, path: 'identity' }) },
      ]}
    />
  )
}

/** An invitation cannot be changed: it is taken back, and another one is made. */
function specsOf(one: User | undefined): Spec[] | undefined {
  if (one?.status === 'invited') return undefined
  const rates: Spec[] = [
    {
      kind: 'number',
      name: 'hourly_rate',
      label: t('field.hourly_rate'),
      hint: t('people.rate_hint'),
      min: 0,
      step: 'any',
    },
    { kind: 'text', name: 'currency', label: t('field.currency'), hint: t('field.currency_hint'), max: 3 },
    { kind: 'check', name: 'active', label: t('people.is_active') },
    { kind: 'check', name: 'available', label: t('people.is_available') },
  ]
  return [
    { kind: 'email', name: 'email', label: t('field.email'), required: true },
    { kind: 'text', name: 'name', label: t('field.name'), max: 255, required: true },
    {
      kind: 'choice',
      name: 'role',
      label: t('people.role'),
      hint: t('people.role_hint'),
      options: (['agent', 'admin'] as const).map((value) => ({ value, text: t(`people.${value}`) })),
    },
    ...(one ? rates : []),
  ]
}
