/** Draws what is costly when it comes in sight; the rest follows, one after the other, while nothing happens. */
import type { RefObject } from 'preact'
import { useLayoutEffect, useState } from 'preact/hooks'

const NEAR_PX = 300
/** Pause between two elements in browsers without `requestIdleCallback`. */
const REST_MS = 100

/** Those that were not drawn yet, the last to be drawn first. */
const waiting = new Set<() => void>()
window.addEventListener('beforeprint', () => {
  for (const show of waiting) show()
})

/** @returns true once the element is in sight or nearly so, or its turn has come */
export function useNear(place: RefObject<Element | null>): boolean {
  const [is_near, setNear] = useState(false)
  useLayoutEffect(() => {
    const element = place.current
    if (is_near || !element) return
    const { top, bottom } = element.getBoundingClientRect()
    if (bottom > 0 && top < innerHeight) return setNear(true)
    const show = () => setNear(true)
    const margin = `${NEAR_PX}px`
    const options = { rootMargin: margin, scrollMargin: margin }
    const observer = new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && show(), options)
    observer.observe(element)
    if (waiting.size === 0) whenIdle(showLast)
    waiting.add(show)
    return () => {
      observer.disconnect()
      waiting.delete(show)
    }
  }, [is_near])
  return is_near
}

function showLast(): void {
  const last = [...waiting].at(-1)
  if (!last) return
  waiting.delete(last)
  last()
  if (waiting.size > 0) whenIdle(showLast)
}

function whenIdle(run: () => void): void {
  if ('requestIdleCallback' in globalThis) requestIdleCallback(run)
  else setTimeout(run, REST_MS)
}
