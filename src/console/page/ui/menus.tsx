/** Menus: a button that shows a native popover, which closes by Escape and by a click elsewhere. */
import type { IconNode } from 'lucide'
import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { type Act, useActs } from '../acts'
import { type Option, Options } from './combobox'
import { Icon } from './icons'
import { attempt } from './toasts'

type PopoverProps = {
  /** The subject of the button: for screen readers and on hover. */
  label: string
  /** The present choice, for screen readers. */
  value?: string
  /** The face of the button. */
  button: ComponentChildren
  kind?: 'quiet' | 'bare' | 'item'
  /** Gets what closes the popover. It is made when the popover is shown. */
  children: (close: () => void) => ComponentChildren
  /** Shows it by a key, and from the palette. */
  act?: Omit<Act, 'run'>
  disabled?: boolean
}

/** A button and what it shows below it. */
export function Popover({ label, value, button, kind = 'bare', children, act, disabled }: PopoverProps) {
  const id = useId()
  const opener = useRef<HTMLButtonElement>(null)
  const layer = useRef<HTMLDivElement>(null)
  const [is_open, setOpen] = useState(false)
  const close = () => layer.current?.hidePopover()
  // At once: what is typed next is meant for it.
  useLayoutEffect(() => {
    if (is_open) place(opener.current!, layer.current!)
  }, [is_open])
  useActs(act && !disabled ? [{ ...act, run: () => layer.current?.showPopover() }] : [])
  return (
    <>
      <button
        ref={opener}
        type="button"
        class={kind}
        aria-label={value === undefined ? label : `${label}: ${value}`}
        title={label}
        aria-haspopup="dialog"
        aria-expanded={is_open}
        popovertarget={id}
        disabled={disabled}
      >
        {button}
      </button>
      <div
        ref={layer}
        id={id}
        popover="auto"
        role="dialog"
        aria-label={label}
        onBeforeToggle={(event) => event.newState === 'open' && setOpen(true)}
        // A click shows it after that. The browser gives the focus back only while what has it is still there.
        onToggle={(event) => {
          if (event.newState === 'open') place(opener.current!, layer.current!)
          else setOpen(false)
        }}
      >
        {is_open && children(close)}
      </div>
    </>
  )
}

/** Puts a popover below its button, or above it where there is no room. */
function place(opener: HTMLElement, layer: HTMLElement): void {
  const at = opener.getBoundingClientRect()
  const { offsetWidth: width, offsetHeight: height } = layer
  const is_rtl = getComputedStyle(opener).direction === 'rtl'
  const left = is_rtl ? at.right - width : at.left
  const top = at.bottom + height + 12 > innerHeight ? at.top - height - 4 : at.bottom + 4
  layer.style.left = `${Math.max(8, Math.min(left, innerWidth - width - 8))}px`
  layer.style.top = `${Math.max(8, Math.min(top, innerHeight - height - 8))}px`
  // The browser tells late that it is shown: by then a key may have gone on from the first one.
  if (!layer.contains(document.activeElement)) layer.querySelector<HTMLElement>('input, button, a')?.focus()
}

export type MenuItem = {
  text: string
  icon?: IconNode
  run: () => unknown
  is_chosen?: boolean
  /** The key that does the same. */
  key?: string
}

type MenuProps = Omit<PopoverProps, 'children'> & { items: MenuItem[] }

/** A menu of a few acts. The arrow keys move among them. */
export function Menu({ items, ...popover }: MenuProps) {
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (!step) return
    event.preventDefault()
    const all = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>('.item')]
    const now = all.indexOf(document.activeElement as HTMLElement)
    all[(now + step + all.length) % all.length]?.focus()
  }
  return (
    <Popover {...popover}>
      {(close) => (
        // biome-ignore lint/a11y/noStaticElementInteractions: hears keys of the buttons in it
        <div onKeyDown={onKeyDown}>
          {items.map(({ text, icon, run, is_chosen, key }) => (
            <button
              key={text}
              type="button"
              class={is_chosen ? 'item is-chosen' : 'item'}
              onClick={() => {
                close()
                void attempt(async () => run())
              }}
            >
              {icon && <Icon of={icon} />}
              <span dir="auto">{text}</span>
              {key && <kbd>{key}</kbd>}
            </button>
          ))}
        </div>
      )}
    </Popover>
  )
}

type PickerProps = Omit<PopoverProps, 'children'> & {
  /** Gives the options. It is called once the picker is open, and may read them then. */
  useOptions: () => Option[] | undefined
  onChoose: (value: string, words: string) => unknown
}

/** A choice by typing: of people, labels, or what else has many names. */
export function Picker({ useOptions, onChoose, ...popover }: PickerProps) {
  return (
    <Popover {...popover}>
      {(close) => (
        <Choice
          label={popover.label}
          useOptions={useOptions}
          onChoose={(...chosen) => {
            close()
            void attempt(async () => onChoose(...chosen))
          }}
        />
      )}
    </Popover>
  )
}

type ChoiceProps = Pick<PickerProps, 'label' | 'useOptions'> & { onChoose: (value: string, words: string) => void }

function Choice({ label, useOptions, onChoose }: ChoiceProps) {
  return <Options label={label} options={useOptions()} onChoose={onChoose} />
}
