/** Saved views of the ticket list. Each is its owner's alone until it is shared. */

import type { Contact } from '../../../desk/contacts/model'
import type { View as SavedView } from '../../../desk/views/model'
import type { Api } from '../api'
import type { Spec } from '../forms/spec'
import { filterOf, linesOf } from '../inbox/saved-filters'
import type { Choices } from '../inbox/search-words'
import { useLive } from '../live'
import { readNames } from '../names'
import { hrefOf } from '../route'
import { isAdmin, type View } from '../view-types'
import { t } from '../words/catalogue'
import { Managed } from './managed'

const SORTS = [
  '-last_message_at',
  'last_message_at',
  'waiting_since',
  '-waiting_since',
  'due_at',
  '-due_at',
  '-created_at',
  'created_at',
  '-updated_at',
  'updated_at',
  '-priority',
  'priority',
] as const

const NAMES_EVERY_MS = 60_000

export function ViewSettings({ api, me, organization }: View) {
  const names = useNamed(api)
  const lines = (filter: SavedView['filter']) => (names ? linesOf(filter, names, names.named) : [])
  const mayChange = ({ owner }: SavedView) => isAdmin(organization) || owner?.id === me.id
  return (
    <Managed<SavedView>
      api={api}
      path="/views"
      caption={t('settings.views')}
      adding={t('view.add')}
      empty={t('view.none')}
      head={[t('field.name'), t('view.filter'), t('view.owner')]}
      nameOf={({ name }) => name}
      cells={({ id, name, filter, owner, shared }) => (
        <>
          <td dir="auto">
            <a href={hrefOf(api.organization_id, ['tickets'], new URLSearchParams({ view_id: id }))}>{name}</a>
          </td>
          <td class="wide">
            <code dir="auto">{lines(filter).join(' ')}</code>
          </td>
          <td dir="auto">
            {owner?.name}
            {shared && <small>{t('view.is_shared')}</small>}
          </td>
        </>
      )}
      specs={(one) => (!names || (one && !mayChange(one)) ? undefined : specs())}
      startOf={(one) => one && { ...one, filter: lines(one.filter) }}
      toBody={async ({ filter, ...body }) =>
        filter ? { ...body, filter: await filterOf(api, filter as string[], names!) } : body
      }
      deleteMeans={(one) => (mayChange(one) ? t('view.delete_means') : undefined)}
    />
  )
}

function specs(): Spec[] {
  return [
    { kind: 'text', name: 'name', label: t('field.name'), max: 255, required: true },
    {
      kind: 'lines',
      name: 'filter',
      label: t('view.filter'),
      hint: t('view.filter_hint'),
      placeholder: 'status:open\nassignee:me',
    },
    {
      kind: 'choice',
      name: 'sort',
      label: t('list.sort'),
      options: [
        { value: '', text: t('view.default_sort') },
        ...SORTS.map((value) => ({ value, text: t(`view.sort_${value}`) })),
      ],
    },
    { kind: 'check', name: 'shared', label: t('view.shared') },
  ]
}

/** The names of ids in filters. */
function useNamed(api: Api) {
  return useLive<Choices & { named: Record<string, string> }>(
    `names of views ${api.organization_id}`,
    async (_before, signal) => {
      const [labels, users, mailboxes, teams, views] = await Promise.all([
        readNames(api, 'labels'),
        readNames(api, 'users'),
        readNames(api, 'mailboxes'),
        readNames(api, 'teams'),
        readNames(api, 'views'),
      ])
      const paths = views.flatMap(({ filter: { contact_id, company_id } }) => [
        ...(contact_id ? [`/contacts/${contact_id}`] : []),
        ...(company_id ? [`/companies/${company_id}`] : []),
      ])
      // One that was removed stays an id.
      const read = (path: string) => api.get<Pick<Contact, 'id' | 'name'> & { email?: string }>(path, { signal })
      const found = await Promise.all([...new Set(paths)].map((path) => read(path).catch(() => undefined)))
      const named = found.flatMap((one) => (one ? [[one.data.id, one.data.email ?? one.data.name]] : []))
      return { labels, users, mailboxes, teams, named: Object.fromEntries(named) }
    },
    NAMES_EVERY_MS,
  ).value
}
