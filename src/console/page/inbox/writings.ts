/** All that is written on the page: by ticket and kind. It is saved when the page is left. */
import type { Api } from '../api'
import { signIn } from '../sign-in'
import { Writing } from './writing'

/** The next person who signs in gets nothing of it. */
const writings = new Map<string, Writing>()
signIn.listen(() => {
  if (signIn.value.state !== 'none') return
  for (const writing of writings.values()) writing.drop()
  writings.clear()
})

/** The texts in a ticket, as a reply or as a note. */
export function writingOf(api: Api, ticket_id: string, is_internal: boolean): Writing {
  const name = `${ticket_id} ${is_internal}`
  const found = writings.get(name)
  if (found) return found
  // Where nothing was written nothing is kept.
  for (const [other, { isBlank }] of writings) if (isBlank && !other.startsWith(ticket_id)) writings.delete(other)
  const writing = new Writing(api, ticket_id, is_internal)
  writings.set(name, writing)
  return writing
}

/** Saves all that was written. @returns false when something could not be saved */
export async function saveWritings(): Promise<boolean> {
  const saved = await Promise.all([...writings.values()].map((writing) => !writing.isUnsaved || writing.save()))
  return saved.every(Boolean)
}

/** Saves what was written when the page is left, and asks before something is lost. */
export function saveWhenLeft(): void {
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) void saveWritings()
  })
  window.addEventListener('pagehide', () => void saveWritings())
  window.addEventListener('beforeunload', (event) => {
    if ([...writings.values()].some((writing) => writing.isAtRisk)) event.preventDefault()
    void saveWritings()
  })
}
