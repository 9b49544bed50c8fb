/**
 * Empty frames for messages, which have loaded their document before a message needs one: it is then seen with the rest
 * of the ticket. A browser that cannot move a frame without loading it again, as Safari, loads each in its place.
 */
import { whenIdle } from '../idle'

/** As many as are in sight at once in most tickets. */
const SPARE = 4
const PLAIN = 'console/frame'

type Fill = (frame: HTMLIFrameElement, document: Document) => void
type Movable = Element & { moveBefore?(node: Node, before: Node | null): void }

const spares: HTMLIFrameElement[] = []
const store: Movable = document.createElement('div')
store.setAttribute('hidden', '')

/** Loads frames while nothing else happens, until there are enough. */
export function keepSpares(): void {
  if (!store.moveBefore || store.childElementCount >= SPARE) return
  if (!store.isConnected) document.body.append(store)
  whenIdle(() => {
    if (store.childElementCount >= SPARE) return
    const frame = newFrame(PLAIN)
    frame.onload = () => {
      spares.push(frame)
      keepSpares()
    }
    store.append(frame)
  })
}

/**
 * Puts a frame into an element.
 * @param fill gets the frame and its document once this has loaded: at once when a spare frame is there
 */
export function putFrame(place: Movable, title: string, shows_images: boolean, fill: Fill): HTMLIFrameElement {
  const spare = shows_images ? undefined : spares.shift()
  const frame = spare ?? newFrame(shows_images ? 'console/frame-with-images' : PLAIN)
  frame.className = 'message-frame'
  frame.title = title
  frame.onload = () => fill(frame, frame.contentDocument!)
  if (spare) {
    place.moveBefore!(spare, null)
    fill(spare, spare.contentDocument!)
  } else place.append(frame)
  keepSpares()
  return frame
}

/** A frame in which no script can run. */
function newFrame(src: string): HTMLIFrameElement {
  const frame = document.createElement('iframe')
  frame.sandbox.value = 'allow-same-origin allow-popups allow-popups-to-escape-sandbox'
  frame.referrerPolicy = 'no-referrer'
  frame.height = '0'
  frame.src = src
  return frame
}
