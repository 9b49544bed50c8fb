/**
 * Answers that leave in ten seconds, unless their writer takes them back. Until then each is a draft of the service:
 * a page that is lost loses none. A page that is left sends them at once.
 */
import { Cell } from '../cell'
import { signIn } from '../sign-in'
import { tell, UNDO_MS } from '../ui/toasts'
import { t } from '../words/catalogue'
import type { Writing } from './writing'

type Held = Answer & { timer: ReturnType<typeof setTimeout>; hide: () => void }

type Answer = {
  /** Says that it leaves soon. */
  text: string
  /** Sends it, and says what followed. */
  send: () => Promise<void>
  /** Shows it again, as its writer left it. */
  reopen: () => void
}

/** By what was written. */
export const outgoing = new Cell<ReadonlyMap<Writing, Held>>(new Map())

/** Sends what is written in ten seconds. */
export function holdBack(writing: Writing, answer: Answer): void {
  const hide = tell(answer.text, {
    undo: () => takeBack(writing),
    now: { text: t('composer.now'), run: () => sendNow(writing) },
  })
  const timer = setTimeout(() => void sendNow(writing), UNDO_MS)
  outgoing.value = new Map(outgoing.value).set(writing, { ...answer, timer, hide })
}

/** Keeps an answer from leaving: it is a draft again, and its writer goes on with it. */
export function takeBack(writing: Writing): void {
  release(writing)?.reopen()
}

/** Sends an answer that is held back. */
async function sendNow(writing: Writing): Promise<void> {
  await release(writing)?.send()
}

/** Sends all that is held back: the page is left, or its person signs out. */
export async function sendAll(): Promise<void> {
  await Promise.all([...outgoing.value.keys()].map(sendNow))
}

/** Sends what is held back when the page is left: a request goes on then. */
export function sendWhenLeft(): void {
  window.addEventListener('pagehide', () => void sendAll())
}

function release(writing: Writing): Held | undefined {
  const held = outgoing.value.get(writing)
  if (!held) return undefined
  clearTimeout(held.timer)
  held.hide()
  const others = new Map(outgoing.value)
  others.delete(writing)
  outgoing.value = others
  return held
}

// A message that the next person would send is not theirs.
signIn.listen(() => {
  if (signIn.value.state === 'none') for (const writing of outgoing.value.keys()) release(writing)
})
