import { Type } from '@sinclair/typebox'
import { TEXT_FORMATS, TICKET_PRIORITIES, TICKET_STATUSES } from '../../base/db/schema'
import { Instant, orNull, Uuid } from '../../base/shapes/answers'
import { body, flag, IdInput, IdsInput, minutesInput, nullable, oneOf, optional, text } from '../../base/shapes/fields'
import { CustomChanges } from '../custom/model'
import { FORMAT_CHANGE, formatInput, Message } from '../messages/model'
import { namesOnly, unknownVariable, VARIABLES } from '../templates/variables'
import { Ticket } from '../tickets/model'
import { CHANGES } from '../tickets/ticket-fields'

const Changes = Type.Object(
  {
    status: optional(oneOf(TICKET_STATUSES, { description: 'The status that it sets' })),
    priority: optional(oneOf(TICKET_PRIORITIES, { description: 'The priority that it sets' })),
    assignee_id: optional(orNull(Uuid, { description: 'Null: unassigns' })),
    team_id: optional(orNull(Uuid, { description: 'Null: of no team' })),
    snooze_minutes: optional(Type.Integer({ description: 'Minutes that it lets the ticket sleep' })),
    add_label_ids: optional(Type.Array(Uuid, { description: 'Labels that it adds' })),
    custom: CustomChanges,
  },
  { description: 'What it changes of a ticket; the fields that are missing stay' },
)

const is_internal = Type.Boolean({ description: 'Its message is an internal note' })

const format = orNull(oneOf(TEXT_FORMATS), { description: 'The form of the body; null without one' })

export const Macro = Type.Object({
  id: Uuid,
  name: Type.String(),
  body: orNull(Type.String({ description: 'Null: it writes no message' })),
  format,
  is_internal,
  changes: Changes,
  created_at: Instant,
  updated_at: Instant,
})
export type Macro = typeof Macro.static

/** Changes that a macro makes, or that go with a draft. */
export const changesInput = (description: string, needs?: string) =>
  body(
    {
      status: CHANGES.status,
      priority: CHANGES.priority,
      assignee_id: CHANGES.assignee_id,
      team_id: CHANGES.team_id,
      snooze_minutes: optional(
        minutesInput({ description: 'The ticket sleeps for this time; without a status other than pending' }),
      ),
      add_label_ids: optional(IdsInput({ not_found: 'LABEL_NOT_FOUND' })),
      custom: CHANGES.custom,
    },
    { description, ...(needs && { 'x-needs': needs }) },
  )

const fields = {
  name: text({ min: 1, max: 255, description: 'Unique without regard to case' }),
  body: text({
    max: 100_000,
    trim: false,
    rule: namesOnly(VARIABLES),
    code: 'INVALID_VARIABLE',
    fault: unknownVariable(),
    description: `Plain text or HTML, with variables: ${VARIABLES.map((name) => `\`{{${name}}}\``).join(', ')}. Blank: none`,
  }),
  is_internal: flag({ description: 'Whether its message is an internal note. Default false' }),
  changes: changesInput('Those of a PATCH of the ticket, and labels that it adds'),
}

export const NewMacro = body({
  name: fields.name,
  body: optional(fields.body),
  format: formatInput(),
  is_internal: optional(fields.is_internal),
  changes: optional(fields.changes),
})
export type NewMacro = typeof NewMacro.static

export const MacroChanges = body({
  name: optional(fields.name),
  body: optional(nullable(fields.body)),
  format: formatInput(FORMAT_CHANGE),
  is_internal: optional(fields.is_internal),
  changes: optional(fields.changes),
})
export type MacroChanges = typeof MacroChanges.static

export const MacroUse = body({ ticket_id: IdInput({ not_found: 'TICKET_NOT_FOUND' }) })
export type MacroUse = typeof MacroUse.static

export const MacroPreview = Type.Object({
  body: orNull(Type.String({ description: 'With the values of the ticket' })),
  format,
  is_internal,
  changes: Changes,
})
export type MacroPreview = typeof MacroPreview.static

export const AppliedMacro = Type.Object({
  ticket: Ticket,
  message: orNull(Message, { description: 'Null: the macro writes none' }),
})
export type AppliedMacro = typeof AppliedMacro.static
