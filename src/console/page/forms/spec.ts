/** The questions of a form, and how the typed values become the body of a request. */

export type Option = {
  value: string
  text: string
  disabled?: boolean
  /** Those of a group stand together below its name, and are chosen together. */
  group?: string
}

/** A file that the service has. */
export type Uploaded = { id: string; filename: string; size: number }
export type Upload = (file: File) => Promise<Uploaded>

/** Finds things by words. */
export type Find = (words: string) => Promise<Option[]>

type Kind =
  | { kind: 'text' | 'email' | 'url' | 'date' | 'datetime-local' | 'color'; max?: number; placeholder?: string }
  /** Never shown; left out of the body while it is empty. */
  | { kind: 'secret'; max?: number; autoComplete?: string }
  | { kind: 'number'; min?: number; max?: number; step?: number | 'any' }
  | { kind: 'area'; max?: number; rows?: number; placeholder?: string }
  /** One item in a line. */
  | { kind: 'lines'; rows?: number; placeholder?: string }
  | { kind: 'check' }
  /** The value '' is null. */
  | { kind: 'choice'; options: Option[] }
  /** `is_long`: each choice is a sentence. */
  | { kind: 'many'; options: Option[]; is_long?: boolean }
  | { kind: 'custom' }
  | { kind: 'files'; upload: Upload }
  /** A thing that is searched for; its value is an id. */
  | { kind: 'pick'; find: Find; shown?: Option }
  /** Several of them; `nameOf` tells the words for an id. */
  | { kind: 'picks'; find: Find; nameOf?: (id: string) => Promise<string> }

/** A field. `name` is its place in the body, such as `smtp.host`. */
export type Spec = Kind & {
  name: string
  /** Another place in the body that the field stands for: what is wrong there is shown here. */
  stands_for?: string
  label: string
  hint?: string
  required?: boolean
  /** Few need it, so it is folded below the others. */
  is_rare?: boolean
  /** The word that has to be typed, for a question that is not answered by mistake. */
  equals?: string
  /** Tells if it is asked for, by what the form holds now. */
  when?: (body: Body) => boolean
}

export type Body = Record<string, unknown>

/** The field's value in an object, by its name with dots. */
export function valueAt(object: Body, name: string): unknown {
  return name.split('.').reduce<unknown>((at, part) => (at as Body | null | undefined)?.[part], object)
}

/** Puts a value in its place; objects on the way are made. */
function put(object: Body, name: string, value: unknown): void {
  const parts = name.split('.')
  const last = parts.pop()!
  let at = object
  for (const part of parts) {
    at[part] ??= {}
    at = at[part] as Body
  }
  at[last] = value
}

/** The body that a form holds. Empty text is null. */
export function bodyOf(form: FormData, specs: Spec[]): Body {
  const body: Body = {}
  for (const spec of specs) {
    if (spec.when && !spec.when(body)) continue
    const value = read(form, spec)
    if (value !== undefined) put(body, spec.name, value)
  }
  return body
}

function read(form: FormData, { kind, name }: Spec): unknown {
  const text = String(form.get(name) ?? '')
  switch (kind) {
    case 'check':
      return form.get(name) === 'on'
    case 'many':
    case 'picks':
    case 'files':
      return form.getAll(name)
    case 'lines':
      return splitLines(text)
    case 'custom':
      return JSON.parse(text || '{}')
    case 'number':
      return text === '' ? null : Number(text)
    case 'datetime-local':
      return text === '' ? null : new Date(text).toISOString()
    case 'secret':
      return text === '' ? undefined : text
    case 'area':
      return text.trim() === '' ? null : text.replaceAll('\r\n', '\n')
    default:
      return text.trim() || null
  }
}

/** The items of a list that is typed, one in a line. */
function splitLines(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim().replace(/[,;]$/, ''))
    .filter(Boolean)
}

/** The difference of two bodies, so that a change of somebody else in another field stays. */
export function changesOf(before: Body, after: Body, specs: Spec[]): Body {
  const customs = new Set(specs.flatMap(({ kind, name }) => (kind === 'custom' ? [name] : [])))
  const changed = Object.entries(after).filter(([name, value]) => !isSame(before[name], value))
  return Object.fromEntries(
    changed.map(([name, value]) => [
      name,
      customs.has(name) ? customChanges(before[name] as Body, value as Body) : value,
    ]),
  )
}

/** Own fields that changed; null for one that is gone. */
function customChanges(before: Body, after: Body): Body {
  const gone = Object.keys(before).filter((key) => !(key in after))
  const changed = Object.entries(after).filter(([key, value]) => !isSame(before[key], value))
  return { ...Object.fromEntries(gone.map((key) => [key, null])), ...Object.fromEntries(changed) }
}

/** A body without what is empty, for a request that creates. */
export function withoutEmpty(body: Body): Body {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null))
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
