/** Draws what is costly when it comes in sight, one after the other; the rest follows while nothing happens. */
import type { RefObject } from 'preact'
import { useLayoutEffect, useState } from 'preact/hooks'
import { whenIdle } from '../idle'

const NEAR_PX = 300
/** Parts that are far wait until those in sight have been drawn. */
const SETTLE_MS = 300

/** Those that were not drawn yet, the last to be drawn first. */
const waiting = new Set<() => void>()
window.addEventListener('beforeprint', () => {
  for (const show of waiting) show()
})

/** Messages that came near. Each is drawn in its own task, so that typing does not wait for all of them. */
const next = new Set<() => void>()
const { port1, port2 } = new MessageChannel()
port1.onmessage = () => {
  const [first] = next
  if (!first) return
  next.delete(first)
  first()
  if (next.size > 0) port2.postMessage(undefined)
}

/**
 * @param is_first it is drawn with the page
 * @returns true once the element is in sight or nearly so, or its turn has come
 */
export function useNear(place: RefObject<Element | null>, is_first: boolean): boolean {
  const [is_near, setNear] = useState(is_first)
  useLayoutEffect(() => {
    const element = place.current
    if (is_near || !element) return
    const show = () => setNear(true)
    const showSoon = () => {
      if (next.size === 0) port2.postMessage(undefined)
      next.add(show)
    }
    // Its message has a place even while what is in it is not laid out.
    if (isInSight(element.parentElement!)) showSoon()
    const margin = `${NEAR_PX}px`
    const options = { rootMargin: margin, scrollMargin: margin }
    const observer = new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && showSoon(), options)
    observer.observe(element.parentElement!)
    if (waiting.size === 0) setTimeout(whenIdle, SETTLE_MS, showLast)
    waiting.add(show)
    return () => {
      observer.disconnect()
      waiting.delete(show)
      next.delete(show)
    }
  }, [is_near])
  return is_near
}

/** Tells if a part of the element is on the screen. */
export function isInSight(element: Element): boolean {
  const { top, bottom } = element.getBoundingClientRect()
  return bottom > 0 && top < innerHeight
}

function showLast(): void {
  const last = [...waiting].at(-1)
  if (!last) return
  waiting.delete(last)
  last()
  if (waiting.size > 0) whenIdle(showLast)
}
