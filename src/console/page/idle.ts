/** Pause in browsers without `requestIdleCallback`. */
const PAUSE_MS = 100
/** A pause in typing is at least so long. */
const REST_MS = 1000

let typed_ms = Number.NEGATIVE_INFINITY
addEventListener('keydown', () => (typed_ms = performance.now()), { capture: true })

/** Runs something once nothing else happens and nobody types: a letter would be shown only after it. */
export function whenIdle(run: () => void): void {
  const soon = (rested: () => void) =>
    'requestIdleCallback' in globalThis ? requestIdleCallback(rested) : setTimeout(rested, PAUSE_MS)
  const rest_ms = typed_ms + REST_MS - performance.now()
  if (rest_ms > 0) setTimeout(whenIdle, rest_ms, run)
  else soon(() => (performance.now() - typed_ms < REST_MS ? whenIdle(run) : run()))
}
