/** Words about what happened: for the eye and for screen readers. A deed that can be undone has a button for it. */
import { X } from 'lucide'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { Refusal } from '../api'
import { Cell, useCell } from '../cell'
import { t } from '../words/catalogue'
import { Icon } from './icons'

type Told = { id: number; text: string; is_error: boolean; shown_ms: number } & Ways

type Ways = {
  /** Takes back what was done, or keeps it from being done. */
  undo?: () => unknown
  /** Does at once what is done later. */
  now?: { text: string; run: () => unknown }
}

/** So long something can be undone. */
export const UNDO_MS = 10_000
const SHOWN_MS = 6000
/** Older ones make room. */
const MOST = 4

const notices = new Cell<Told[]>([])
let last_id = 0

/**
 * Tells in words what happened.
 * @param ways what the person can do about it; a function is `undo`
 * @returns what removes the words
 */
export function tell(text: string, ways: Ways | (() => unknown) = {}): () => void {
  const given = typeof ways === 'function' ? { undo: ways } : ways
  return show({ text, ...given, is_error: false, shown_ms: given.undo ? UNDO_MS : SHOWN_MS })
}

/** Tells what failed; it stays until somebody has read it. */
export function tellFault(text: string): void {
  show({ text, is_error: true, shown_ms: 0 })
}

function show(told: Omit<Told, 'id'>): () => void {
  const id = ++last_id
  // A deed that can be undone stays; other words give way to the new ones.
  const others = notices.value.filter(({ undo }) => undo !== undefined)
  notices.value = [...others, { ...told, id }].slice(-MOST)
  return () => remove(id)
}

function remove(id: number): void {
  notices.value = notices.value.filter((one) => one.id !== id)
}

/** Takes back what was done last of what is told now; undefined when there is nothing. */
export function useUndo(): (() => unknown) | undefined {
  const last = useCell(notices).findLast(({ undo }) => undo !== undefined)
  if (!last) return undefined
  return () => {
    remove(last.id)
    return last.undo!()
  }
}

/** Removes all words but those of what can be undone. */
export function clearNotices(): void {
  notices.value = notices.value.filter(({ undo }) => undo !== undefined)
}

/** Removes what was said of failures. */
export function clearFaults(): void {
  if (notices.value.some(({ is_error }) => is_error)) notices.value = notices.value.filter(({ is_error }) => !is_error)
}

/** Runs what a button does, and tells why it failed. @returns undefined when it failed */
export async function attempt<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    tellFault(faultIn(error))
    return undefined
  }
}

/** Says an error in words for the person. */
export function faultIn(error: unknown): string {
  return error instanceof Refusal ? error.text : String(error)
}

/** A menu that is open. What is shown later lies over it. */
export const OPEN_MENU = '[popover]:popover-open:not(.notices)'

/**
 * Stands on the page, over all else and without the focus; and in the flow of a dialog, which keeps screen readers from
 * what is outside of it.
 */
export function Notices({ is_in_dialog = false }) {
  const shown = useCell(notices)
  const place = useRef<HTMLDivElement>(null)
  const newest = shown.at(-1)?.id
  useLayoutEffect(() => {
    const element = place.current!
    if (is_in_dialog) return
    if (element.matches(':popover-open') && document.querySelector(OPEN_MENU)) element.hidePopover()
    if (!element.matches(':popover-open')) element.showPopover()
  }, [newest])
  return (
    // Screen readers heed what is put into an element that was there before.
    <div ref={place} class="notices" role="status" aria-atomic="false" popover={is_in_dialog ? undefined : 'manual'}>
      {shown.map((told) => (
        <Notice key={told.id} told={told} />
      ))}
    </div>
  )
}

function Notice({ told }: { told: Told }) {
  const { id, text, is_error, undo, now, shown_ms } = told
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => {
    // At the end of a long dialog it would be out of sight.
    place.current!.scrollIntoView({ block: 'nearest' })
    if (shown_ms === 0) return
    const timer = setTimeout(() => remove(id), shown_ms)
    return () => clearTimeout(timer)
  }, [])
  return (
    <div ref={place} class={is_error ? 'notice bad' : 'notice'} role={is_error ? 'alert' : undefined}>
      <span dir="auto">{text}</span>
      <span class="grow" />
      {undo && <Way text={t('ui.undo')} run={undo} is_main onDone={() => remove(id)} />}
      {now && <Way {...now} onDone={() => remove(id)} />}
      <button type="button" aria-label={t('ui.dismiss')} title={t('ui.dismiss')} onClick={() => remove(id)}>
        <Icon of={X} />
      </button>
    </div>
  )
}

type WayProps = { text: string; run: () => unknown; is_main?: boolean; onDone: () => void }

function Way({ text, run, is_main, onDone }: WayProps) {
  return (
    <button
      type="button"
      class={is_main ? 'undo' : undefined}
      onClick={() => {
        onDone()
        void attempt(async () => run())
      }}
    >
      {text}
    </button>
  )
}
