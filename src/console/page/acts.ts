/**
 * The deeds that a person can do now, by key and in the palette. Each part of the page says so while it is shown;
 * the part that was shown last goes first where two have the same key.
 */
import type { IconNode } from 'lucide'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { Cell } from './cell'
import { attempt, OPEN_MENU } from './ui/toasts'

export type Act = {
  text: string
  /** A key, or two one after the other, such as `g i`. */
  keys?: string
  icon?: IconNode
  /** Those of a group stand together in the palette, below its name. */
  group?: string
  run: () => unknown
}

/** Keys of a sequence come at most so long after each other. */
const SEQUENCE_MS = 1200

/** The acts of the parts that are shown, the latest part first. */
export const acts = new Cell<Act[][]>([])

/**
 * Offers acts while a component is shown. They may change with each drawing; their number and keys may too.
 * @param group of all of them
 */
export function useActs(given: Act[], group?: string): void {
  const latest = useRef(given)
  latest.current = given
  const words = given.map(({ text, keys }) => `${keys} ${text}`).join('\n')
  // At once: what is seen can be done.
  useLayoutEffect(() => {
    const shown = latest.current.map((act, place) => ({ group, ...act, run: () => latest.current[place]?.run() }))
    acts.value = [shown, ...acts.value]
    return () => {
      acts.value = acts.value.filter((one) => one !== shown)
    }
  }, [words])
}

let begun: { key: string; at_ms: number } | undefined

/** Runs the act of a key. Keys in fields are the fields' own, and those in dialogs and menus are theirs. */
export function listenForKeys(): void {
  document.addEventListener('keydown', (event) => {
    const { key } = event
    if (event.isComposing || event.altKey || key === 'Shift') return
    const has_ctrl = event.ctrlKey || event.metaKey
    const is_palette = has_ctrl && key.toLowerCase() === 'k'
    // In a field it is the field's own.
    const is_undo = has_ctrl && !event.shiftKey && key.toLowerCase() === 'z' && !isField(event.target)
    if (!is_palette && !is_undo && (has_ctrl || isField(event.target))) return
    if (document.querySelector(`dialog[open], ${OPEN_MENU}`)) return
    const name = is_palette ? 'Ctrl K' : key
    const before = begun && performance.now() - begun.at_ms < SEQUENCE_MS ? `${begun.key} ` : ''
    const all = acts.value.flat()
    const act = all.find(({ keys }) => keys === before + name) ?? all.find(({ keys }) => keys === name)
    begun =
      !act && all.some(({ keys }) => keys?.startsWith(`${name} `)) ? { key: name, at_ms: performance.now() } : undefined
    if (!act) return
    event.preventDefault()
    void attempt(async () => act.run())
  })
}

function isField(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    target.closest('input:not([type="checkbox"]), select, textarea, [contenteditable]') !== null
  )
}
