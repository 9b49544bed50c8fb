/** Reads values of other desks: texts, times, numbers, lists of addresses. Pure. */
import { createHash } from 'node:crypto'
import { isEmailAddress } from '../../base/address/email'
import { MOST_CHARACTERS } from '../../desk/custom/model'
import { isTooDeep, type Losses } from '../import/fitting'
import type { Value } from './dump-values'

/** Makes the text of a value of a dump, or of JSON; empty for what is no text and no number. */
export function textOf(value: Value | unknown): string {
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean' || value instanceof Buffer ? String(value) : ''
}

/** The first of some values that has a text. */
export function firstOf(...values: unknown[]): string {
  return values.map(textOf).find((text) => text.trim() !== '') ?? ''
}

/** Texts that are there, one below the other. */
export function linesOf(...values: unknown[]): string {
  return values
    .map(textOf)
    .filter((text) => text.trim() !== '')
    .join('\n')
}

/** A list of JSON, empty when there is none. */
export function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

/** The objects of a list. */
export function objectsOf(value: unknown): Record<string, unknown>[] {
  return listOf(value).filter((one) => typeof one === 'object' && one !== null) as Record<string, unknown>[]
}

/** The fields of an object of JSON, or none. */
export function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
}

/** An id, or undefined for null and for 0, which stands for null in some desks. */
export function idOf(value: unknown): string | undefined {
  const text = textOf(value)
  return text === '' || text === '0' ? undefined : text
}

/** A time without offset, as a database writes it, in UTC or in the zone of the server. */
export function timeOf(value: Value | undefined, zone = 'UTC'): string | undefined {
  const found = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d(?:\.\d{1,6})?)/.exec(textOf(value))
  if (!found || found[1]!.startsWith('0000')) return undefined
  const utc_ms = Date.parse(`${found[1]}T${found[2]!.slice(0, 12)}Z`)
  if (Number.isNaN(utc_ms)) return undefined
  return new Date(utc_ms - offsetOf(zone, utc_ms)).toISOString()
}

/** Milliseconds by which the clock of a zone goes before UTC, when it shows this time. */
function offsetOf(zone: string, shown_ms: number): number {
  if (zone === 'UTC') return 0
  const shownAt = (time_ms: number) => {
    const parts = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' })
    return Date.parse(`${parts.format(time_ms).replace(' ', 'T')}Z`)
  }
  const guess_ms = shown_ms - (shownAt(shown_ms) - Math.floor(shown_ms / 1000) * 1000)
  return shownAt(guess_ms) - Math.floor(guess_ms / 1000) * 1000
}

/** A name in one line; the local part of the address when there is none. */
export function nameOf(name: string, email = ''): string {
  return name.replace(/[\s\p{Cc}]+/gu, ' ').trim() || email.split('@')[0] || 'Unknown'
}

export function subjectOf(subject: string): string {
  return subject.replace(/\p{Cc}+/gu, ' ').trim() || '(no subject)'
}

/** An address, when it is one that a contact may have. */
export function emailOf(text: unknown): string | undefined {
  const email = textOf(text).trim()
  return isEmailAddress(email) ? email : undefined
}

/** The addresses in a header, a JSON list or a list with commas. */
export function emailsOf(text: string): string[] {
  return withAt(text.split(/[\s<>,;"'[\]()]+/))
}

/** The Message-IDs in a header, without brackets. */
export function messageIdsOf(text: string): string[] {
  return withAt(text.split(/[\s<>,]+/))
}

/** The Message-IDs that a mail refers to, from its headers. */
export function referencesIn(headers: string): string[] {
  const fields = headers.split(/\r?\n(?![ \t])/).filter((field) => /^(?:references|in-reply-to):/i.test(field))
  return messageIdsOf(fields.map((field) => field.slice(field.indexOf(':') + 1)).join(' '))
}

/** Words with an @ that is neither their first nor their last character. */
function withAt(words: string[]): string[] {
  const is_inside = (word: string) => word.indexOf('@', 1) > 0 && word.indexOf('@', 1) < word.length - 1
  return [...new Set(words.filter(is_inside))]
}

/** Adds to the list of a key. */
export function addTo<T>(lists: Map<string, T[]>, key: string, value: T): void {
  const list = lists.get(key)
  if (list) list.push(value)
  else lists.set(key, [value])
}

/** Takes a list away: what is left in the end belongs to nothing. */
export function takeFrom<T>(lists: Map<string, T[]>, key: string): T[] {
  const list = lists.get(key) ?? []
  lists.delete(key)
  return list
}

const MOST_MINUTES = 525_600

/** Whole minutes that a time entry may have; undefined for none. */
export function minutesOf(minutes: number, losses: Losses): number | undefined {
  const whole = Math.ceil(minutes)
  if (!(whole >= 1)) return undefined
  if (whole <= MOST_MINUTES) return whole
  losses.cut.push({ path: '/duration_minutes', message: `is more than ${MOST_MINUTES} minutes` })
  return MOST_MINUTES
}

const MOST_NAME = 63

/**
 * Custom fields, by names that are made to fit: of values of several choices lists, of other objects their JSON. Empty
 * ones are no fields.
 */
export function customOf(fields: Record<string, unknown>, losses: Losses): Record<string, unknown> {
  const kept: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(fields)) {
    if (value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0)) continue
    const key = customName(name, kept, losses)
    if (Array.isArray(value)) kept[key] = value.map(itemText)
    else if (typeof value !== 'object') kept[key] = value
    else {
      const text = jsonOf(value)
      if (text !== undefined && text.length <= MOST_CHARACTERS) kept[key] = text
      else losses.left_out.push({ path: `/custom/${key}`, message: 'has too much in it, or too deeply' })
    }
  }
  return kept
}

function customName(name: string, taken: object, losses: Losses): string {
  const plain = name
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9_]+/g, '_')
    .replace(/^_+/, '')
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 8)
  const word = /^[a-z]/.test(plain) ? plain : `field_${/[a-z0-9]/.test(plain) ? plain : hash}`
  const key = word.slice(0, MOST_NAME)
  const message = `its name is longer than ${MOST_NAME} characters`
  if (word.length > MOST_NAME) losses.cut.push({ path: `/custom/${key}`, message })
  // Another name may have become this one.
  return Object.hasOwn(taken, key) ? `${key.slice(0, MOST_NAME - 9)}_${hash}` : key
}

function itemText(item: unknown): string {
  return typeof item === 'object' && item !== null ? (jsonOf(item) ?? '') : String(item ?? '')
}

/** The JSON of an object; undefined of one that is nested too deeply to be written. */
function jsonOf(value: object): string | undefined {
  return isTooDeep(value) ? undefined : JSON.stringify(value)
}
