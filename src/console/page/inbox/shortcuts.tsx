/** Keys of the inbox. */
import { useEffect } from 'preact/hooks'
import { go, hrefOf } from '../route'
import type { View } from '../view-types'

/** What each key does, as the page lists them. */
export const SHORTCUTS: [key: string, text: string][] = [
  ['j', 'next ticket'],
  ['k', 'previous ticket'],
  ['Enter', 'open it'],
  ['u', 'back to the list'],
  ['/', 'search'],
  ['r', 'reply'],
  ['n', 'write a note'],
  ['Ctrl Enter', 'send'],
]

/** Listens for keys while the inbox is shown. Keys in fields are the fields' own. */
export function useShortcuts({ api, route }: View): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isField(event.target)) return
      if (document.querySelector('dialog[open]')) return
      const run = {
        j: () => move(1),
        k: () => move(-1),
        u: () => go(hrefOf(api.organization_id, ['tickets'], route.query)),
        '/': () => document.getElementById('search')?.focus(),
        r: () => document.getElementById('write-reply')?.click(),
        n: () => document.getElementById('write-note')?.click(),
      }[event.key]
      if (!run) return
      event.preventDefault()
      run()
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [api, route])
}

function isField(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest('input, select, textarea, [contenteditable]') !== null
}

/** Moves the focus among the tickets of the list, from the one that has it, or that is open. */
function move(step: 1 | -1): void {
  const links = [...document.querySelectorAll<HTMLAnchorElement>('.list .row a')]
  const now = links.indexOf(document.activeElement as HTMLAnchorElement)
  const from = now >= 0 ? now : links.findIndex((link) => link.getAttribute('aria-current'))
  links[Math.min(Math.max(from + step, 0), links.length - 1)]?.focus()
}
