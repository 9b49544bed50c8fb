/** Small parts that every view is made of. */
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { Refusal } from './api'
import { Cell, useCell } from './cell'

/** What happened last, for the eye and for screen readers. */
const notice = new Cell<{ text: string; is_error: boolean } | undefined>(undefined)
const NOTICE_MS = 6000

/** Tells in words what happened. */
export function tell(text: string): void {
  notice.value = { text, is_error: false }
}

export function clearNotice(): void {
  notice.value = undefined
}

/** Runs what a button does, and tells why it failed. @returns undefined when it failed */
export async function attempt<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    notice.value = { text: error instanceof Refusal ? error.text : String(error), is_error: true }
    return undefined
  }
}

/** Stands on the page, and in a dialog, which keeps screen readers from what is outside of it. */
export function Notice() {
  const now = useCell(notice)
  useEffect(() => {
    if (!now || now.is_error) return
    const timer = setTimeout(clearNotice, NOTICE_MS)
    return () => clearTimeout(timer)
  }, [now])
  return (
    <div class="notice" role={now?.is_error ? 'alert' : 'status'} hidden={!now}>
      <span>{now?.text}</span>
      <Button text="Dismiss" onClick={clearNotice} />
    </div>
  )
}

type ButtonProps = {
  text: string
  onClick: () => void
  kind?: 'quiet' | 'main'
  /** For screen readers, when the text alone does not say it. */
  label?: string
  /** Of a button that shows and hides something. */
  is_open?: boolean
}

/** A button whose work ends at once. */
export function Button({ text, onClick, kind = 'quiet', label, is_open }: ButtonProps) {
  return (
    <button type="button" class={kind} aria-label={label} aria-expanded={is_open} onClick={onClick}>
      {text}
    </button>
  )
}

type ActionProps = {
  run: () => Promise<unknown>
  children: ComponentChildren
  kind?: 'quiet' | 'main' | 'danger'
  disabled?: boolean
  /** For screen readers, when the text alone does not say it. */
  label?: string
}

/** A button that is off while its work runs. */
export function Action({ run, children, kind = 'quiet', disabled, label }: ActionProps) {
  const [is_busy, setBusy] = useState(false)
  const onClick = async () => {
    setBusy(true)
    await attempt(run)
    setBusy(false)
  }
  return (
    <button type="button" class={kind} disabled={disabled || is_busy} aria-label={label} onClick={onClick}>
      {children}
    </button>
  )
}

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
        {onCancel && <Button text="Cancel" onClick={onCancel} />}
      </p>
    </form>
  )
}

type InputProps = {
  name: string
  type?: 'text' | 'email' | 'password' | 'url' | 'number'
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
  // The types of a role differ by the type of the input: any one will do.
  const given = { autoComplete: 'off', 'aria-describedby': hint && id, defaultValue: value, ...input } as {
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

type DialogProps = { title: string; children: ComponentChildren; onClose?: () => void }

/** A dialog over the page. Escape closes it, and the focus goes back to where it was. */
export function Dialog({ title, children, onClose }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null
    clearNotice()
    element.current!.showModal()
    return () => {
      if (notice.value?.is_error) clearNotice()
      before?.focus()
    }
  }, [])
  return (
    <dialog
      ref={element}
      aria-label={title}
      onCancel={(event) => {
        event.preventDefault()
        onClose?.()
      }}
    >
      <h2>{title}</h2>
      {children}
      <Notice />
    </dialog>
  )
}

type QuestionProps = {
  title: string
  children: ComponentChildren
  /** What the button says. */
  answer: string
  run: () => Promise<unknown>
  onClose: () => void
}

/** Asks before something is done that cannot be undone. */
export function Question({ title, children, answer, run, onClose }: QuestionProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <p>{children}</p>
      <p class="buttons">
        <Action kind="danger" run={run}>
          {answer}
        </Action>
        <Button text="Cancel" onClick={onClose} />
      </p>
    </Dialog>
  )
}

/** A coloured dot with its word: the colour is never all that says it. */
export function Dot({ kind, children }: { kind: string; children: ComponentChildren }) {
  return (
    <span class={`dot dot-${kind}`}>
      <i aria-hidden="true" />
      {children}
    </span>
  )
}

/** What to show while a list is read, or when it cannot be. */
export function Waiting({ error }: { error: Refusal | undefined }) {
  return error ? (
    <p class="empty" role="alert">
      {error.text}
    </p>
  ) : (
    <p class="empty">Loading …</p>
  )
}

const RELATIVE = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'short' })
const EXACT = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium' })
const DAY = new Intl.DateTimeFormat('en', { month: 'short', day: 'numeric' })
const DAY_OF_YEAR = new Intl.DateTimeFormat('en', { dateStyle: 'medium' })
const MINUTE_S = 60
const HOUR_S = 3600
const DAY_S = 86_400

/** Changes while the page is open, so that times stay true. */
const half_minute = new Cell(0)
setInterval(() => half_minute.value++, 30_000)

/** A time as people say it; the exact one on hover. */
export function Time({ at }: { at: string }) {
  useCell(half_minute)
  return (
    <time dateTime={at} title={EXACT.format(new Date(at))}>
      {ago(at)}
    </time>
  )
}

/** How long ago a time was, or how far ahead it is. */
function ago(at: string, now_ms = Date.now()): string {
  const seconds = (Date.parse(at) - now_ms) / 1000
  const distance = Math.abs(seconds)
  if (distance < MINUTE_S) return seconds > 5 ? 'in a moment' : 'just now'
  if (distance < HOUR_S) return RELATIVE.format(Math.trunc(seconds / MINUTE_S), 'minute')
  if (distance < DAY_S) return RELATIVE.format(Math.trunc(seconds / HOUR_S), 'hour')
  if (distance < 7 * DAY_S) return RELATIVE.format(Math.trunc(seconds / DAY_S), 'day')
  return (distance < 180 * DAY_S ? DAY : DAY_OF_YEAR).format(new Date(at))
}

/** Minutes as `1 h 05 min`. */
export function duration(minutes: number): string {
  const hours = Math.floor(minutes / 60)
  return hours > 0 ? `${hours} h ${String(minutes % 60).padStart(2, '0')} min` : `${minutes} min`
}

export function bytes(size: number): string {
  if (size < 1000) return `${size} B`
  return size < 1_000_000 ? `${(size / 1000).toFixed(0)} kB` : `${(size / 1_000_000).toFixed(1)} MB`
}
