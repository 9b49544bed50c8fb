/** Dialogs over the page, made of the native element. */
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { t } from '../words/catalogue'
import { Action, Button } from './buttons'
import { clearFaults, clearNotices, Notices } from './toasts'

type DialogProps = {
  title: string
  children: ComponentChildren
  onClose?: () => void
  /** It stands at the top, and its title is for screen readers. */
  is_palette?: boolean
}

/** A dialog. Escape closes it, and the focus goes back to where it was. */
export function Dialog({ title, children, onClose, is_palette }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null)
  // At once: what is typed next is meant for it.
  useLayoutEffect(() => {
    const before = document.activeElement as HTMLElement | null
    const dialog = element.current!
    clearNotices()
    dialog.showModal()
    dialog.querySelector<HTMLElement>('input:not([readonly], [type=hidden]), textarea, select')?.focus()
    return () => {
      clearFaults()
      // Nothing outside takes the focus while it is open.
      dialog.close()
      before?.focus()
    }
  }, [])
  return (
    <dialog
      ref={element}
      class={is_palette ? 'palette-dialog' : undefined}
      aria-label={title}
      onCancel={(event) => {
        event.preventDefault()
        onClose?.()
      }}
    >
      <h2 class={is_palette ? 'unseen' : undefined}>{title}</h2>
      {children}
      <Notices is_in_dialog />
    </dialog>
  )
}

type QuestionProps = {
  title: string
  children: ComponentChildren
  /** The label of the button. */
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
        <Button text={t('ui.cancel')} onClick={onClose} />
      </p>
    </Dialog>
  )
}
