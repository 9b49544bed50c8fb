/** The labels of a ticket: added by typing, a new one too. */
import { Plus, Tag } from 'lucide'
import { useState } from 'preact/hooks'
import type { Label } from '../../../desk/labels/model'
import type { TicketWithMessages } from '../../../desk/tickets/model'
import type { Act } from '../acts'
import type { Api } from '../api'
import { useNames } from '../names'
import type { Option } from '../ui/combobox'
import { Dialog } from '../ui/dialogs'
import { Field, Form } from '../ui/form-fields'
import { Icon } from '../ui/icons'
import { Picker } from '../ui/menus'
import type { Change } from '../view-types'
import { t } from '../words/catalogue'
import { LabelChip } from './ticket-row'

/** The colours for new labels, with their names. */
const PALETTE = [
  ['#EF4444', 'red'],
  ['#F97316', 'orange'],
  ['#EAB308', 'yellow'],
  ['#22C55E', 'green'],
  ['#3B82F6', 'blue'],
  ['#8B5CF6', 'purple'],
  ['#6B7280', 'gray'],
] as const
const NEW = 'new'

type Props = { api: Api; ticket: TicketWithMessages; change: Change; act: Omit<Act, 'run'> }

export function Labels({ api, ticket, change, act }: Props) {
  /** The name that was typed of a new one, while it is made. */
  const [making, setMaking] = useState<string>()
  const ids = ticket.labels.map(({ id }) => id)
  const choose = (id: string, typed = '') => {
    if (id === NEW) setMaking(typed)
    else void change({ label_ids: ids.includes(id) ? ids.filter((one) => one !== id) : [...ids, id] })
  }
  return (
    <div class="labels">
      {ticket.labels.map((label) => (
        <span key={label.id} class="removable">
          <LabelChip {...label} />
          <button
            type="button"
            aria-label={t('ticket.remove_label', { label: label.name })}
            onClick={() => choose(label.id)}
          >
            ×
          </button>
        </span>
      ))}
      <Picker
        label={t('ticket.add_label')}
        button={<Icon of={Tag} />}
        act={act}
        useOptions={() => useLabels(api, ids)}
        onChoose={choose}
      />
      {making !== undefined && (
        <NewLabel
          api={api}
          name={making}
          onClose={() => setMaking(undefined)}
          onMade={async (id) => {
            if (await change({ label_ids: [...ids, id] })) setMaking(undefined)
          }}
        />
      )}
    </div>
  )
}

function useLabels(api: Api, chosen: string[]): Option[] | undefined {
  const labels = useNames(api, 'labels')?.map(({ id, name, color }) => ({
    value: id,
    text: name,
    mark: <Colour color={color} />,
    is_chosen: chosen.includes(id),
  }))
  return labels && [...labels, { value: NEW, text: t('ticket.new_label'), icon: Plus, stays: true }]
}

function Colour({ color }: { color: string }) {
  return (
    <svg aria-hidden="true" viewBox="0 0 8 8" width="10" height="10">
      <circle cx="4" cy="4" r="4" fill={color} />
    </svg>
  )
}

type NewProps = { api: Api; name: string; onClose: () => void; onMade: (id: string) => Promise<void> }

function NewLabel({ api, name, onClose, onMade }: NewProps) {
  const make = async (form: FormData) => {
    const { data } = await api.post<Label>('/labels', { name: form.get('name'), color: form.get('color') })
    await onMade(data.id)
  }
  return (
    <Dialog title={t('ticket.new_label')} onClose={onClose}>
      <Form submit={t('ticket.add')} onCancel={onClose} send={make}>
        <Field label={t('inbox.name')} name="name" value={name} required maxLength={64} />
        <fieldset class="palette">
          <legend>{t('ticket.colour')}</legend>
          {PALETTE.map(([color, name], place) => (
            <label key={color} class="check">
              <input type="radio" name="color" value={color} defaultChecked={place === 4} />
              <Colour color={color} />
              {t(`colour.${name}`)}
            </label>
          ))}
        </fieldset>
      </Form>
    </Dialog>
  )
}
