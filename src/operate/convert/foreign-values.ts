/** Reads values of other desks: texts, times, numbers, lists of addresses. Pure. */
import { isEmailAddress } from '../../base/address/email'
import type { Value } from './dump-values'

/** Makes the text of a value of a dump. */
export function textOf(value: Value | undefined): string {
  return value ? value.toString() : ''
}

/** An id, or undefined for null and for 0, which stands for null in some desks. */
export function idOf(value: Value | undefined): string | undefined {
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
  const line = name
    .replace(/\p{Cc}+/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim()
  return [...line].slice(0, 255).join('') || email.split('@')[0] || 'Unknown'
}

export function subjectOf(subject: string): string {
  return [...subject.replace(/\p{Cc}+/gu, ' ').trim()].slice(0, 255).join('').trim() || '(no subject)'
}

/** An address, when it is one that a contact may have. */
export function emailOf(text: string | null | undefined): string | undefined {
  const email = (text ?? '').trim()
  return isEmailAddress(email) ? email : undefined
}

/** Makes the addresses in a header, a JSON list or a list with commas. */
export function emailsOf(text: string): string[] {
  return [...new Set([...text.matchAll(/[^\s<>,;"'[\]()]+@[^\s<>,;"'[\]()]+/g)].flatMap(([one]) => emailOf(one) ?? []))]
}

/** The Message-IDs in a header, without brackets. */
export function messageIdsOf(text: string): string[] {
  return [...new Set((text.match(/[^\s<>,]+@[^\s<>,]+/g) ?? []).filter((one) => one.length <= 998))]
}

/** Text of limited length, undefined for none. */
export function cut(text: string | null | undefined, most: number): string | undefined {
  return [...(text ?? '').trim()].slice(0, most).join('') || undefined
}

/** Fields that have a value. */
export function given<T extends object>(fields: T): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== '')) as T
}

/** Whole minutes that a time entry may have; undefined for none. */
export function minutesOf(minutes: number): number | undefined {
  const whole = Math.ceil(minutes)
  return whole >= 1 ? Math.min(whole, 525_600) : undefined
}

/** Custom fields of the kinds that are kept: names are made to fit. */
export function customOf(fields: Record<string, unknown>): Record<string, string | number | boolean> | undefined {
  const kept: Record<string, string | number | boolean> = {}
  for (const [name, value] of Object.entries(fields).slice(0, 50)) {
    const key = name
      .toLowerCase()
      .replace(/[^a-z0-9_]+/g, '_')
      .replace(/^[^a-z]+/, '')
      .slice(0, 63)
    if (key === '' || value === null || value === undefined || value === '') continue
    if (typeof value === 'number' || typeof value === 'boolean') kept[key] = value
    else kept[key] = [...(typeof value === 'string' ? value : JSON.stringify(value))].slice(0, 200).join('')
  }
  return Object.keys(kept).length > 0 ? kept : undefined
}
