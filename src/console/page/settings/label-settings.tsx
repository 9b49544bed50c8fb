/** Labels: their names, colours, and on how many tickets they are. */
import type { Label } from '../../../desk/labels/model'
import { hrefOf } from '../route'
import type { View } from '../view-types'
import { t } from '../words/catalogue'
import { Managed } from './managed'

export function LabelSettings({ api }: View) {
  return (
    <Managed<Label>
      api={api}
      path="/labels"
      isAbout={({ type }) => type.startsWith('label.')}
      caption={t('settings.labels')}
      adding={t('label.add')}
      empty={t('label.none')}
      head={[t('field.name'), t('field.description'), t('field.tickets')]}
      nameOf={({ name }) => name}
      cells={(one) => (
        <>
          <td dir="auto">
            <span class="label">
              <svg viewBox="0 0 10 10" aria-hidden="true">
                <circle cx="5" cy="5" r="5" fill={one.color} />
              </svg>
              {one.name}
            </span>
          </td>
          <td class="wide" dir="auto">
            {one.description}
          </td>
          <td class="number">
            <a href={hrefOf(api.organization_id, ['tickets'], new URLSearchParams({ label_ids: one.id }))}>
              {one.ticket_count}
            </a>
          </td>
        </>
      )}
      specs={() => [
        { kind: 'text', name: 'name', label: t('field.name'), max: 64, required: true },
        { kind: 'color', name: 'color', label: t('label.color') },
        { kind: 'text', name: 'description', label: t('field.description'), max: 500 },
      ]}
      startOf={(one) => ({ color: '#3b82f6', ...one })}
      deleteMeans={({ ticket_count }) => t('label.delete_means', { count: ticket_count })}
    />
  )
}
