/**
 * The fields of a ticket that somebody gives it, each told once. Answers, the bodies of creates, changes and imports,
 * columns, what a change compares, what a person's export has, and what purging and erasing leave follow from here.
 */
import { type Static, type TProperties, type TSchema, Type } from '@sinclair/typebox'
import { ERASED } from '../../base/address/email'
import { TICKET_PRIORITIES, TICKET_STATUSES, type tickets } from '../../base/db/schema'
import { Instant, orNull, TicketCode, Uuid } from '../../base/shapes/answers'
import { externalIdInput } from '../../base/shapes/external-id'
import { IdInput, IdsInput, instantInput, nullable, oneOf, optional, text } from '../../base/shapes/fields'
import { propertyOf } from '../../base/shapes/property-of'
import { wordsOfCustom } from '../custom/custom-words'
import { Custom, CustomChanges, CustomInput } from '../custom/model'
import { Rating } from '../ratings/model'
import type { NO_MESSAGES } from '../turn/turn'

/** Values of columns. */
type Row = { [column: string]: string | null }

type Field = {
  /** As answers show it. */
  answer: TSchema
  /** As bodies that create have it. */
  input: TProperties
  /** As bodies that change have it. */
  change: TProperties
  /** Its value in a ticket that is given none. */
  initial: unknown
  /** Its columns once the ticket is purged, and once the person is erased. */
  emptied: { purge: Row; erasure: Row }
}

const KEPT = {}
const NO_CUSTOM = { custom: '{}', custom_words: null }

const subject = text({ min: 1, max: 255 })
const priority = oneOf(TICKET_PRIORITIES, { code: 'INVALID_PRIORITY' })

/** In the order of answers. What only we set of a ticket stands in the models. */
const FIELDS = {
  subject: {
    answer: Type.String(),
    input: { subject },
    change: { subject: optional(subject) },
    initial: '',
    emptied: { purge: KEPT, erasure: { subject: ERASED } },
  },
  status: {
    answer: oneOf(TICKET_STATUSES, { description: 'From closed only to open, from resolved not to pending' }),
    input: {},
    change: { status: optional(oneOf(TICKET_STATUSES, { code: 'INVALID_STATUS' })) },
    initial: 'open',
    emptied: { purge: KEPT, erasure: KEPT },
  },
  priority: {
    answer: oneOf(TICKET_PRIORITIES, { description: 'Of the work; `normal` when none is given' }),
    input: { priority: optional(priority) },
    change: { priority: optional(priority) },
    initial: 'normal',
    emptied: { purge: KEPT, erasure: KEPT },
  },
  contact: {
    answer: orNull(Type.Object({ id: Uuid, name: Type.String(), email: Type.String() }), {
      description: 'Who submitted it; null when nobody can read that, or once the contact is deleted',
    }),
    input: {
      contact_id: IdInput({ not_found: 'CONTACT_NOT_FOUND', description: 'The contact who submitted the ticket' }),
    },
    change: {
      contact_id: optional(
        IdInput({ not_found: 'CONTACT_NOT_FOUND', description: 'Who submitted the ticket, while it has no contact' }),
      ),
    },
    initial: null,
    emptied: { purge: KEPT, erasure: KEPT },
  },
  company: {
    answer: orNull(Type.Object({ id: Uuid, name: Type.String() }), { description: "The contact's" }),
    input: {},
    change: {},
    initial: null,
    emptied: { purge: KEPT, erasure: KEPT },
  },
  assignee: {
    answer: orNull(Type.Object({ id: Uuid, name: Type.String() }), { description: 'Who works on it' }),
    input: { assignee_id: optional(IdInput({ not_found: 'USER_NOT_FOUND' })) },
    change: {
      assignee_id: optional(nullable(IdInput({ not_found: 'USER_NOT_FOUND', description: 'Null: unassigns' }))),
    },
    initial: null,
    emptied: { purge: { assignee_id: null }, erasure: KEPT },
  },
  team: {
    answer: orNull(Type.Object({ id: Uuid, name: Type.String() }), { description: 'Who shares the work on it' }),
    input: { team_id: optional(IdInput({ not_found: 'TEAM_NOT_FOUND', description: 'Default: that of the mailbox' })) },
    change: {
      team_id: optional(
        nullable(
          IdInput({ not_found: 'TEAM_NOT_FOUND', description: 'It may give the ticket to a member. Null: none' }),
        ),
      ),
    },
    initial: null,
    emptied: { purge: { team_id: null }, erasure: KEPT },
  },
  mailbox: {
    answer: orNull(
      Type.Object({
        id: Uuid,
        address: Type.String({ description: 'Where it receives and what it sends as' }),
        name: orNull(Type.String()),
      }),
      { description: 'Answers leave from it while it can send; null: from the default one' },
    ),
    input: {
      mailbox_id: optional(IdInput({ not_found: 'MAILBOX_NOT_FOUND', description: 'Default: the default one' })),
    },
    change: {
      mailbox_id: optional(nullable(IdInput({ not_found: 'MAILBOX_NOT_FOUND', description: 'Null: the default one' }))),
    },
    initial: null,
    emptied: { purge: { mailbox_id: null }, erasure: KEPT },
  },
  labels: {
    answer: Type.Array(
      Type.Object({ id: Uuid, name: Type.String(), color: Type.String({ description: 'Hex colour code #RRGGBB' }) }),
      { description: 'By name' },
    ),
    input: { label_ids: optional(IdsInput({ not_found: 'LABEL_NOT_FOUND' })) },
    change: { label_ids: optional(IdsInput({ not_found: 'LABEL_NOT_FOUND', description: 'Replaces all labels' })) },
    initial: [],
    emptied: { purge: KEPT, erasure: KEPT },
  },
  parent: {
    answer: orNull(Type.Object({ id: Uuid, code: TicketCode, subject: Type.String() }), {
      description: 'The ticket that it is a part of; of a merged one its target',
    }),
    input: { parent_id: optional(IdInput({ not_found: 'TICKET_NOT_FOUND' })) },
    change: {
      parent_id: optional(
        nullable(
          IdInput({
            not_found: 'TICKET_NOT_FOUND',
            description: 'Not the ticket itself, and none below it. Null: none',
          }),
        ),
      ),
    },
    initial: null,
    emptied: { purge: { parent_id: null }, erasure: KEPT },
  },
  snoozed_until: {
    answer: orNull(Instant, { description: 'It is pending until then, and open from then on' }),
    input: {},
    change: {
      snoozed_until: optional(
        nullable(
          instantInput({ description: 'Makes an open ticket pending until then, within a year. Null: wakes it now' }),
        ),
      ),
    },
    initial: null,
    emptied: { purge: { snoozed_until: null }, erasure: KEPT },
  },
  rating: {
    answer: orNull(Rating, { description: 'The newest of its contact, who was asked or rated it on the portal' }),
    input: {},
    change: {},
    initial: null,
    emptied: { purge: { rating_score: null, rating_comment: null, rated_at: null }, erasure: { rating_comment: null } },
  },
  external_id: {
    answer: orNull(Type.String({ description: 'Its id in another system' })),
    input: { external_id: optional(externalIdInput) },
    change: { external_id: optional(nullable(externalIdInput)) },
    initial: null,
    emptied: { purge: { external_id: null }, erasure: { external_id: null } },
  },
  custom: {
    answer: Custom,
    input: { custom: CustomInput },
    change: { custom: CustomChanges },
    initial: {},
    emptied: { purge: NO_CUSTOM, erasure: NO_CUSTOM },
  },
} satisfies Record<string, Field>

type Fields = typeof FIELDS
export type FieldName = keyof Fields
/** The fields as answers show them. */
type Shown = { [Name in FieldName]: Static<Fields[Name]['answer']> }

export const FIELD_NAMES = Object.keys(FIELDS) as FieldName[]
export const SHOWN = propertyOf(FIELDS, 'answer')
const INITIAL = propertyOf(FIELDS, 'initial') as Shown
export const INPUTS = merged('input')
export const CHANGES = merged('change')
const EMPTIED = Object.values<Field>(FIELDS).map(({ emptied }) => emptied)
export const PURGED: Row = Object.assign({}, ...EMPTIED.map(({ purge }) => purge))
export const ERASED_COLUMNS: Row = Object.assign({}, ...EMPTIED.map(({ erasure }) => erasure))

type Intersection<Union> = (Union extends unknown ? (one: Union) => void : never) extends (all: infer All) => void
  ? { [Key in keyof All]: All[Key] }
  : never

/** The fields of bodies of all entries. */
function merged<Part extends 'input' | 'change'>(part: Part) {
  return Object.assign({}, ...FIELD_NAMES.map((name) => FIELDS[name][part])) as Intersection<Fields[FieldName][Part]>
}

type Reference = 'contact' | 'company' | 'assignee' | 'team' | 'mailbox' | 'parent'
type Plain = Exclude<FieldName, Reference | 'labels' | 'rating'>

const {
  contact: _,
  company: __,
  assignee: ___,
  team: ____,
  mailbox: _____,
  labels: ______,
  parent: _______,
  rating: ________,
  ...plain
} = FIELDS

/** Fields whose column has their name, and their value as answers show it. */
export const PLAIN = Object.keys(plain) as Plain[]

/** The fields as they are written: of what they name, the id is enough. */
export type Written = Pick<Shown, Plain | 'rating'> &
  Record<Reference, { id: string } | null> & { labels: { id: string }[] }

/** The fields of a new ticket: those that a body gives, those that it names, and the others as they are at first. */
export function newFields<
  Named extends Pick<Written, Reference | 'labels' | 'custom'> & Partial<Pick<Written, 'rating'>>,
>(given: Partial<Pick<Shown, Exclude<Plain, 'custom'>>>, named: Named) {
  return { ...INITIAL, ...plainOf<Partial<Shown>>(given), ...named }
}

/** Columns that no field has: which ticket it is, what became of it, and what follows from its messages. */
type OwnColumn =
  | 'organization_id'
  | 'id'
  | 'number'
  | 'code'
  | 'split_from_id'
  | 'merged_into_id'
  | 'merged_first_into_id'
  | 'merged_at'
  | 'status_before_merge'
  | keyof typeof NO_MESSAGES
  | `sla_${'policy_id' | 'metric' | 'due_at' | 'soon_at' | 'from'}`
  | 'created_at'
  | 'updated_at'
  | 'deleted_at'
  | 'purged_at'
  | 'erased_at'

/** A column of the table that stands here by neither name does not compile below. */
type FieldColumn = Exclude<keyof (typeof tickets)['$inferSelect'], OwnColumn>

/** The columns of fields. Labels have a table. */
export function columnsOf(organization_id: string, fields: Written) {
  const { contact, company, assignee, team, mailbox, parent, rating, custom } = fields
  return {
    ...plainOf<Omit<Pick<Shown, Plain>, 'custom'>>(fields),
    contact_id: contact?.id ?? null,
    company_id: company?.id ?? null,
    assignee_id: assignee?.id ?? null,
    team_id: team?.id ?? null,
    mailbox_id: mailbox?.id ?? null,
    parent_id: parent?.id ?? null,
    rating_score: rating?.score ?? null,
    rating_comment: rating?.comment ?? null,
    rated_at: rating?.rated_at ?? null,
    custom: JSON.stringify(custom),
    custom_words: wordsOfCustom(organization_id, custom),
  } satisfies Record<FieldColumn, unknown>
}

function plainOf<Given>(given: object): Given {
  return Object.fromEntries(Object.entries(given).filter(([name]) => name in plain)) as Given
}
