/** Forms and their fields. */
import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { t } from '../words/catalogue'
import { Button } from './buttons'
import { faultIn } from './toasts'

type FormProps = {
  send: (form: FormData) => Promise<unknown>
  submit: string
  children: ComponentChildren
  onCancel?: () => void
  /** Its first field has the focus as soon as it is shown. */
  takes_focus?: boolean
}

/** Fields that somebody can type in. */
const TYPED = 'input:not([readonly], [type=checkbox], [type=radio], [type=file])'

/**
 * A form whose button is off while it is sent. A fault stands below its fields, and the last of them gets the focus.
 */
export function Form({ send, submit, children, onCancel, takes_focus }: FormProps) {
  const element = useRef<HTMLFormElement>(null)
  const [is_busy, setBusy] = useState(false)
  const [fault, setFault] = useState('')
  useLayoutEffect(() => {
    if (takes_focus) element.current!.querySelector<HTMLElement>(TYPED)?.focus()
  }, [])
  const onSubmit = async (event: SubmitEvent) => {
    event.preventDefault()
    setBusy(true)
    setFault('')
    try {
      await send(new FormData(event.target as HTMLFormElement))
    } catch (error) {
      setFault(faultIn(error))
      ;[...(element.current?.querySelectorAll<HTMLElement>(TYPED) ?? [])].at(-1)?.focus()
    }
    setBusy(false)
  }
  return (
    <form ref={element} onSubmit={onSubmit}>
      {children}
      {fault && (
        <p class="fault" role="alert">
          {fault}
        </p>
      )}
      <p class="buttons">
        <button type="submit" class="main" disabled={is_busy}>
          {submit}
        </button>
        {onCancel && <Button text={t('ui.cancel')} onClick={onCancel} />}
      </p>
    </form>
  )
}

type InputProps = {
  name: string
  type?: 'text' | 'email' | 'password' | 'url' | 'number' | 'date' | 'datetime-local'
  value?: string | number
  required?: boolean
  readOnly?: boolean
  autoComplete?: string
  placeholder?: string
  maxLength?: number
  min?: number
  max?: number
}

/** A field of a form with its label. `value` is what it begins with: drawing it again keeps what was typed. */
export function Field({ label, hint, value, ...input }: { label: string; hint?: string } & InputProps) {
  const id = useId()
  // Preact types the roles of inputs by their type, which is not known here: text stands for all.
  const given = { autoComplete: 'off', dir: 'auto', 'aria-describedby': hint && id, defaultValue: value, ...input } as {
    type: 'text'
  }
  return (
    <div class="field">
      <label>
        <span>{label}</span>
        <input {...given} />
      </label>
      {hint && <small id={id}>{hint}</small>}
    </div>
  )
}

type ChoiceProps = {
  label: string
  options: { value: string; text: string; disabled?: boolean }[]
  value: string
  onChoose: (value: string) => void
  /** The label is for screen readers only. */
  is_quiet?: boolean
}

/** A native choice of a few values. */
export function Choice({ label, options, value, onChoose, is_quiet }: ChoiceProps) {
  return (
    <label class="field">
      <span class={is_quiet ? 'unseen' : ''}>{label}</span>
      <select value={value} onChange={(event) => onChoose((event.target as HTMLSelectElement).value)}>
        {options.map((one) => (
          <option key={one.value} value={one.value} disabled={one.disabled}>
            {one.text}
          </option>
        ))}
      </select>
    </label>
  )
}
