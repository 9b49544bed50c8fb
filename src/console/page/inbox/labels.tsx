/** The labels of a ticket. */
import { useState } from 'preact/hooks'
import type { Label } from '../../../desk/labels/model'
import type { TicketWithMessages } from '../../../desk/tickets/model'
import type { Api } from '../api'
import { Button, Choice, Dialog, Field, Form } from '../ui'
import type { Change, Names } from '../view-types'
import { LabelChip } from './ticket-list'

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

export function Labels({
  api,
  ticket,
  names,
  change,
}: {
  api: Api
  ticket: TicketWithMessages
  names: Names
  change: Change
}) {
  const [is_making, setMaking] = useState(false)
  const ids = ticket.labels.map(({ id }) => id)
  const free = names.labels.filter(({ id }) => !ids.includes(id))
  return (
    <div class="labels">
      {ticket.labels.map((label) => (
        <span key={label.id} class="removable">
          <LabelChip {...label} />
          <Button
            text="×"
            label={`Remove the label ${label.name}`}
            onClick={() => void change({ label_ids: ids.filter((id) => id !== label.id) })}
          />
        </span>
      ))}
      <Choice
        label="Add a label"
        is_quiet
        value=""
        options={[
          { value: '', text: 'Add a label …' },
          ...free.map(({ id, name }) => ({ value: id, text: name })),
          { value: NEW, text: 'New label …' },
        ]}
        onChoose={(id) => (id === NEW ? setMaking(true) : void change({ label_ids: [...ids, id] }))}
      />
      {is_making && (
        <NewLabel
          api={api}
          onClose={() => setMaking(false)}
          onMade={async (id) => {
            if (await change({ label_ids: [...ids, id] })) setMaking(false)
          }}
        />
      )}
    </div>
  )
}

function NewLabel({ api, onClose, onMade }: { api: Api; onClose: () => void; onMade: (id: string) => Promise<void> }) {
  const make = async (form: FormData) => {
    const { data } = await api.post<Label>('/labels', { name: form.get('name'), color: form.get('color') })
    await onMade(data.id)
  }
  return (
    <Dialog title="New label" onClose={onClose}>
      <Form submit="Add" onCancel={onClose} send={make}>
        <Field label="Name" name="name" required maxLength={64} />
        <fieldset class="palette">
          <legend>Colour</legend>
          {PALETTE.map(([color, name], place) => (
            <label key={color}>
              <input type="radio" name="color" value={color} defaultChecked={place === 4} />
              <svg aria-hidden="true" viewBox="0 0 8 8">
                <circle cx="4" cy="4" r="4" fill={color} />
              </svg>
              {name}
            </label>
          ))}
        </fieldset>
      </Form>
    </Dialog>
  )
}
