/** Buttons: one whose work ends at once, and one that is off while its work runs. */
import type { IconNode } from 'lucide'
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Icon } from './icons'
import { attempt } from './toasts'

type Kind = 'quiet' | 'main' | 'danger' | 'bare'

type ButtonProps = {
  /** Without an icon it is what the button shows. Beside an icon it may be missing: then `label` says it. */
  text?: string
  icon?: IconNode
  onClick: () => void
  kind?: Kind
  /** For screen readers and on hover, when the text alone does not say it. */
  label?: string
  /** The state of a button that shows and hides something. */
  is_open?: boolean
  disabled?: boolean
}

/** A button whose work ends at once. */
export function Button({ text, icon, onClick, kind = 'quiet', label, is_open, disabled }: ButtonProps) {
  return (
    <button
      type="button"
      class={text === undefined ? `${kind} only-icon` : kind}
      aria-label={label}
      title={text === undefined ? label : undefined}
      aria-expanded={is_open}
      disabled={disabled}
      onClick={onClick}
    >
      {icon && <Icon of={icon} />}
      {text}
    </button>
  )
}

type ActionProps = {
  run: () => Promise<unknown>
  children?: ComponentChildren
  icon?: IconNode
  kind?: Kind
  disabled?: boolean
  /** For screen readers and on hover, when the text alone does not say it. */
  label?: string
}

/** A button that is off while its work runs, and tells why the work failed. */
export function Action({ run, children, icon, kind = 'quiet', disabled, label }: ActionProps) {
  const [is_busy, setBusy] = useState(false)
  const onClick = async () => {
    setBusy(true)
    await attempt(run)
    setBusy(false)
  }
  return (
    <button
      type="button"
      class={children === undefined ? `${kind} only-icon` : kind}
      disabled={disabled || is_busy}
      aria-label={label}
      title={children === undefined ? label : undefined}
      onClick={onClick}
    >
      {icon && <Icon of={icon} />}
      {children}
    </button>
  )
}
