/** The messages of a ticket, as one begins to read: at the end, or where the newest begins when it is longer. */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

/** How long a message that was opened still grows: its frame and its images load. */
const SETTLES_MS = 3000
/** Signs that somebody has begun to read. */
const BEGINS = ['wheel', 'touchmove', 'pointerdown', 'keydown'] as const

export function Reading({ children }: { children: ComponentChildren }) {
  const scroller = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const element = scroller.current!
    const newest = [...element.querySelectorAll<HTMLElement>('.message')].at(-1)
    if (!newest) return
    const observer = new ResizeObserver(() => {
      if (newest.offsetHeight > element.clientHeight) newest.scrollIntoView({ block: 'start' })
    })
    observer.observe(newest)
    const stop = new AbortController()
    stop.signal.addEventListener('abort', () => observer.disconnect())
    for (const begin of BEGINS) addEventListener(begin, () => stop.abort(), { signal: stop.signal, passive: true })
    const timer = setTimeout(() => stop.abort(), SETTLES_MS)
    return () => {
      clearTimeout(timer)
      stop.abort()
    }
  }, [])
  return (
    <div ref={scroller} class="messages-scroll">
      {children}
    </div>
  )
}
