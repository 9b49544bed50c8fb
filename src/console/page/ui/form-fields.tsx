/** Forms and their fields. */
import type { ComponentChildren } from 'preact'
import { useId, useState } from 'preact/hooks'
import { t } from '../words/catalogue'
import { Button } from './buttons'
import { attempt } from './toasts'

type FormProps = {
  send: (form: FormData) => Promise<unknown>
  submit: string
  children: ComponentChildren
  onCancel?: () => void
}

/** A form whose button is off while it is sent. */
export function Form({ send, submit, children, onCancel }: FormProps) {
  const [is_busy, setBusy] = useState(false)
  const onSubmit = async (event: SubmitEvent) => {
    event.preventDefault()
    setBusy(true)
    await attempt(() => send(new FormData(event.target as HTMLFormElement)))
    setBusy(false)
  }
  return (
    <form onSubmit={onSubmit}>
      {children}
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
  type?: 'text' | 'email' | 'password' | 'url' | 'number' | 'date'
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
