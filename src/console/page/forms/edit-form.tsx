/** A form that is made of its fields' descriptions, and shows what the API finds wrong beside the field. */
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Refusal } from '../api'
import { Button } from '../ui/buttons'
import { attempt } from '../ui/toasts'
import { t } from '../words/catalogue'
import { Input } from './input'
import { type Body, bodyOf, changesOf, type Spec, valueAt } from './spec'

type Props = {
  specs: Spec[]
  /** The values that the fields begin with. */
  value?: Body
  submit: string
  /** Gets all that the form holds, and what of it differs from the beginning. */
  send: (body: Body, changes: Body) => Promise<unknown>
  onCancel?: () => void
  /** Hears what the form holds, whenever somebody has changed it. */
  onBody?: (body: Body) => void
  is_dangerous?: boolean
  children?: ComponentChildren
}

/** Faults by the name of their field. */
type Faults = Record<string, string>

export function EditForm({ specs, value = {}, submit, send, onCancel, onBody, is_dangerous, children }: Props) {
  const element = useRef<HTMLFormElement>(null)
  const first = useRef<Body>({})
  const [body, setBody] = useState<Body>(() => beginning(specs, value))
  const [faults, setFaults] = useState<Faults>({})
  const [is_busy, setBusy] = useState(false)
  // A field that goes with the form still says that it has changed.
  const read = () => (element.current ? bodyOf(new FormData(element.current), specs) : body)
  const take = () => {
    const now = read()
    setBody(now)
    onBody?.(now)
  }
  useLayoutEffect(() => {
    first.current = read()
    setBody(first.current)
  }, [])
  // Fields that have just appeared may decide about others.
  useLayoutEffect(() => {
    const now = read()
    if (JSON.stringify(now) !== JSON.stringify(body)) setBody(now)
  }, [body])

  const onSubmit = async (event: SubmitEvent) => {
    event.preventDefault()
    setBusy(true)
    setFaults({})
    const now = read()
    await attempt(async () => {
      try {
        await send(now, changesOf(first.current, now, specs))
      } catch (error) {
        const found = faultsOf(error, specs)
        if (!found) throw error
        setFaults(found)
        element.current?.querySelector<HTMLElement>(`[name="${CSS.escape(Object.keys(found)[0]!)}"]`)?.focus()
      }
    })
    setBusy(false)
  }
  return (
    <form
      ref={element}
      class="edit"
      onSubmit={onSubmit}
      onInput={take}
      onChange={take}
      onKeyDown={(event) => sends(event) && !is_busy && element.current!.requestSubmit()}
    >
      <Fields specs={specs.filter(({ when }) => !when || when(body))} value={value} faults={faults} />
      {children}
      <p class="buttons">
        <button type="submit" class={is_dangerous ? 'danger' : 'main'} disabled={is_busy}>
          {submit}
        </button>
        {onCancel && <Button text={t('ui.cancel')} onClick={onCancel} />}
      </p>
    </form>
  )
}

/** Tells if a key sends the form from any of its fields. */
function sends({ key, ctrlKey, metaKey }: KeyboardEvent): boolean {
  return key === 'Enter' && (ctrlKey || metaKey)
}

/** The fields, and below them, folded, those that few need. */
function Fields({ specs, value, faults }: { specs: Spec[]; value: Body; faults: Faults }) {
  const rare = specs.filter(({ is_rare }) => is_rare)
  const draw = (spec: Spec) => (
    <Input key={spec.name} spec={spec} value={valueAt(value, spec.name)} fault={faults[spec.name]} />
  )
  return (
    <>
      {specs.filter(({ is_rare }) => !is_rare).map(draw)}
      {rare.length > 0 && (
        <details class="rare" open={rare.some(({ name }) => faults[name])}>
          <summary>{t('form.rare')}</summary>
          {rare.map(draw)}
        </details>
      )}
    </>
  )
}

/** The facts that decide before the first drawing which fields there are. */
function beginning(specs: Spec[], value: Body): Body {
  return structuredClone(Object.fromEntries(specs.map(({ name }) => [name.split('.')[0]!, value[name.split('.')[0]!]])))
}

/** @returns undefined when some fault belongs to no field */
function faultsOf(error: unknown, specs: Spec[]): Faults | undefined {
  if (!(error instanceof Refusal)) return undefined
  const faults: Faults = {}
  for (const { path, message } of error.details.errors ?? []) {
    const place = path.slice(1).replaceAll('/', '.')
    const spec = specs.find(
      ({ name, stands_for }) => place === name || place === stands_for || place.startsWith(`${name}.`),
    )
    if (!spec) return undefined
    const at = place.slice(spec.name.length + 1)
    faults[spec.name] = [faults[spec.name], at && !/^\d+$/.test(at) ? `${at}: ${message}` : message]
      .filter(Boolean)
      .join('; ')
  }
  return Object.keys(faults).length > 0 ? faults : undefined
}
