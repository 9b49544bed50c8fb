/** Saved views of the ticket list. Each is its owner's alone until it is shared. */
import type { View as SavedView } from '../../../desk/views/model'
import { query } from '../api'
import type { Body, Spec } from '../forms/spec'
import { hrefOf } from '../route'
import { isAdmin, type View } from '../view-types'
import { t } from '../words/catalogue'
import { Managed } from './managed'

const SORTS = ['-created_at', 'created_at', '-updated_at', 'updated_at', '-priority', 'priority'] as const

export function ViewSettings({ api, me, organization }: View) {
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
            <code>{query(filter).slice(1)}</code>
          </td>
          <td dir="auto">
            {owner?.name}
            {shared && <small>{t('view.is_shared')}</small>}
          </td>
        </>
      )}
      specs={(one) => (one && !mayChange(one) ? undefined : specs())}
      startOf={(one) => one && { ...one, filter: Object.entries(one.filter).map((pair) => pair.join('=')) }}
      toBody={toBody}
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
      placeholder: 'status=open\nassignee_id=me',
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

/** Lines such as `status=open` are the filter. */
function toBody({ filter, ...body }: Body): Body {
  if (!filter) return body
  const pairs = (filter as string[]).map((line) => {
    const [name = '', ...value] = line.split('=')
    return [name.trim(), value.join('=').trim()]
  })
  return { ...body, filter: Object.fromEntries(pairs) }
}
