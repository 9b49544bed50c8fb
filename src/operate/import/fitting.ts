/**
 * Makes rows fit what the service takes, for each file of an import and for what convert writes: this is the one place
 * where something is cut or dropped. It says so of each. Pure.
 */
import type { TSchema } from '@sinclair/typebox'
import { codePoints, firstCharacters } from '../../base/address/characters'
import type { Fault } from '../../base/errors'
import { safeFileName } from '../../base/mime/safe-file-name'
import { CUSTOM_KEY, MOST_CHARACTERS, MOST_FIELDS, MOST_ITEM_CHARACTERS, MOST_ITEMS } from '../../desk/custom/model'
import { isWithinLimits } from '../../desk/custom/values'

/** Parts of a row: what was shortened, and what is not brought, with the reason. */
export type Losses = { cut: Fault[]; left_out: Fault[] }

export const noLosses = (): Losses => ({ cut: [], left_out: [] })

type Schema = TSchema & {
  trim?: boolean
  max?: number
  code?: string
  maxItems?: number
  items?: Schema
  anyOf?: Schema[]
  properties?: Record<string, Schema>
}

/** Fields that are compared or followed: a part of one would be another one. */
const WHOLE = /(?:^|_)(?:ids?|url|code|email|emails|domains)$/
/** Fields that stand in one line, whose line breaks and other control characters become blanks. */
const ONE_LINE = new Set(['name', 'subject', 'phone', 'code', 'content_type'])
/** Fields of messages that stand in headers of answers, where a control character would begin another header. */
const IN_HEADERS = new Set(['email_message_id', 'references', 'cc', 'content_id', 'email'])
const MESSAGE_IDS = new Set(['email_message_id', 'references'])
const MOST_ID_CHARACTERS = 998

/** Levels of a value that are written. A try to write 100,000 of them takes seconds to fail. */
const MOST_LEVELS = 50

/** Tells whether a value is nested more deeply than it is written. */
export function isTooDeep(value: unknown, levels = MOST_LEVELS): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((one) => isTooDeep(one, levels - 1))
}

/** Fits the fields of a row, which are judged afterwards: what is wrong in another way stays. */
export function fitted(model: TSchema, given: object, losses: Losses): Record<string, unknown> {
  return fitFields((model as Schema).properties ?? {}, given, '', losses)
}

function fitFields(fields: Record<string, Schema>, given: object, path: string, losses: Losses) {
  const kept = Object.entries(given).map(([field, value]) => {
    const at = `${path}/${field}`
    return [
      field,
      field === 'custom' ? fitCustom(value, losses) : fit(fields[field], field, value, at, losses),
    ] as const
  })
  return Object.fromEntries(kept.filter(([, value]) => value !== undefined))
}

function fit(given: Schema | undefined, field: string, value: unknown, path: string, losses: Losses): unknown {
  const schema = given?.anyOf?.find(({ type }) => type !== 'null') ?? given
  if (!schema) return value
  if (typeof value === 'string') return fitText(schema, field, value, path, losses)
  if (Array.isArray(value) && schema.items) return fitList(schema, field, value, path, losses)
  if (typeof value === 'object' && value !== null && schema.properties) {
    return fitFields(schema.properties, value, path, losses)
  }
  return value
}

function fitList({ items, maxItems }: Schema, field: string, given: unknown[], path: string, losses: Losses) {
  const fitting = given.flatMap((one, at) => {
    const kept = fit(items, field, one, `${path}/${at}`, losses)
    return kept === undefined ? [] : [kept]
  })
  // The primary address of a contact counts beside these.
  const most = field === 'emails' ? maxItems! - 1 : (maxItems ?? fitting.length)
  const values = fitting.length > most ? [...new Set(fitting)] : fitting
  if (values.length <= most) return values
  losses.cut.push({ path, message: `has ${values.length} entries, of which ${most} stay` })
  // The last Message-IDs are the nearest.
  return field === 'references' ? values.slice(-most) : values.slice(0, most)
}

function fitText(schema: Schema, field: string, value: string, path: string, losses: Losses): string | undefined {
  if (IN_HEADERS.has(field) && schema.code === undefined) return fitHeader(field, value, path, losses)
  if (field === 'filename') return fitFileName(value, path, losses)
  const line = ONE_LINE.has(field) ? value.replace(/\p{Cc}+/gu, ' ') : value
  const is_whole = schema.code !== undefined || WHOLE.test(field)
  return is_whole || schema.max === undefined ? line : shortened(line, schema.max, path, losses, schema.trim)
}

/** A header of an answer may be folded. */
function fitHeader(field: string, value: string, path: string, losses: Losses): string | undefined {
  const is_id = MESSAGE_IDS.has(field)
  const unfolded = value.replace(/\r?\n[ \t]+/g, is_id ? '' : ' ').trim()
  const bare = is_id ? unfolded.replace(/^<|>$/g, '') : unfolded
  const message = /\p{Cc}/u.test(bare)
    ? 'has control characters'
    : is_id && bare.length > MOST_ID_CHARACTERS && `is longer than ${MOST_ID_CHARACTERS} characters`
  if (message) losses.left_out.push({ path, message })
  return message || bare === '' ? undefined : bare
}

function fitFileName(value: string, path: string, losses: Losses): string {
  const name = safeFileName(value)
  // Characters that a name must not have go without a word, as in an upload; a path is no part of a name.
  const last = value.split(/[/\\]/).at(-1)!
  if (codePoints(last) > 255 && codePoints(name) === 255) losses.cut.push({ path, message: tooLong(255) })
  return name
}

function shortened(value: string, most: number, path: string, losses: Losses, trim = false): string {
  const text = trim ? value.trim() : value
  if (text.length <= most || codePoints(text) <= most) return text
  losses.cut.push({ path, message: tooLong(most) })
  return firstCharacters(text, most)
}

const tooLong = (most: number) => `is longer than ${most} characters`

/** Keeps as many fields as may stand together, each with what may be in it. */
function fitCustom(given: unknown, losses: Losses): unknown {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return given
  const values = Object.entries(given).flatMap(([name, value]) => {
    const kept = fitCustomValue(value, `/custom/${name}`, losses)
    return kept === undefined || kept === null ? [] : [[name, kept] as [string, never]]
  })
  const leave = (some: [string, never][], message: string) =>
    losses.left_out.push(...some.map(([name]) => ({ path: `/custom/${name}`, message })))
  // A name that is wrong has its own fault.
  if (values.some(([name]) => !CUSTOM_KEY.test(name))) return Object.fromEntries(values)
  leave(values.splice(MOST_FIELDS), `is one of more than ${MOST_FIELDS} fields`)
  while (!isWithinLimits(Object.fromEntries(values))) leave(values.splice(-1), 'is too large beside the other fields')
  return Object.fromEntries(values)
}

function fitCustomValue(value: unknown, path: string, losses: Losses): unknown {
  if (typeof value === 'string') return shortened(value, MOST_CHARACTERS, path, losses)
  if (!Array.isArray(value)) return value
  if (value.length > MOST_ITEMS) {
    losses.cut.push({ path, message: `has ${value.length} entries, of which ${MOST_ITEMS} stay` })
  }
  return value
    .slice(0, MOST_ITEMS)
    .map((one, at) => (typeof one === 'string' ? shortened(one, MOST_ITEM_CHARACTERS, `${path}/${at}`, losses) : one))
}
