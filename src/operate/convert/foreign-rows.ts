/** Common work of the converters of all desks. */
import type { Format } from '../../base/html/formats'
import type { Losses } from '../import/fitting'
import { textOf } from './foreign-values'
import type { OutFolder } from './write-folder'

/** Makes keys such as `zendesk:123`. */
export function keyed(desk: string): (id: unknown) => string {
  return (id) => `${desk}:${textOf(id)}`
}

/** The times of an object of JSON. */
export function timesOf({ created_at, updated_at }: Record<string, unknown>) {
  return { created_at: textOf(created_at) || undefined, updated_at: textOf(updated_at) || undefined }
}

/** The bodies of a message with their form: HTML with a text if there is one, else a text, which may be empty. */
export function bodiesOf(html: string, text = ''): { body_html?: string; body?: string; format: Format } {
  if (html.trim() === '') return { body: text, format: 'text' }
  return { body_html: html, ...(text.trim() !== '' && { body: text }), format: 'html' }
}

/** Counts fields that have a value, and no place here. */
export function leaveNoPlace(item: Record<string, unknown>, fields: string[], losses: Losses): void {
  for (const field of fields) {
    const value = item[field]
    if (Array.isArray(value) ? value.length > 0 : textOf(value) !== '') {
      losses.left_out.push({ path: `/${field}`, message: 'has no place here' })
    }
  }
}

/** Labels of tags, each of which is written when it first occurs. */
export class Labels {
  readonly #keys = new Set<string>()
  readonly #key: (id: unknown) => string
  readonly #out: OutFolder

  constructor(key: (id: unknown) => string, out: OutFolder) {
    this.#key = key
    this.#out = out
  }

  /** Gives the keys of the labels of tags. Names differ by more than case. */
  keysOf(tags: unknown[]): string[] {
    const names = tags.map((tag) => textOf(tag).trim()).filter((name) => name !== '')
    const keys = new Map(names.map((name) => [this.#key(name.toLowerCase()), name.toLowerCase()]))
    for (const [external_id, name] of keys) {
      if (!this.#keys.has(external_id)) this.#out.write('labels', { external_id, name })
      this.#keys.add(external_id)
    }
    return [...keys.keys()]
  }
}

/** Groups of agents, which become teams: those of one name become one. */
export class Groups {
  readonly #names = new Map<string, string>()
  readonly #members = new Map<string, Set<string>>()
  readonly #key: (id: unknown) => string

  constructor(key: (id: unknown) => string) {
    this.#key = key
  }

  note(id: unknown, name: unknown): void {
    if (textOf(name).trim() !== '') this.#names.set(textOf(id), textOf(name).trim())
  }

  /** Adds an agent, unless the group is unknown. */
  add(id: unknown, email: string | undefined): void {
    const key = this.keyOf(id)
    if (key && email) this.#members.set(key, (this.#members.get(key) ?? new Set()).add(email))
  }

  /** The key of the team of a group. @returns undefined for an unknown group */
  keyOf(id: unknown): string | undefined {
    const name = this.#names.get(textOf(id))?.toLowerCase()
    if (name === undefined) return undefined
    return this.#key([...this.#names].find(([, other]) => other.toLowerCase() === name)![0])
  }

  write(out: OutFolder): void {
    for (const [id, name] of this.#names) {
      const external_id = this.#key(id)
      if (this.keyOf(id) !== external_id) continue
      out.write('teams', { external_id, name, member_emails: [...(this.#members.get(external_id) ?? [])] })
    }
  }
}
