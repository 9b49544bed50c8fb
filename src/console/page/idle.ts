/** Pause in browsers without `requestIdleCallback`. */
const REST_MS = 100

/** Runs something once nothing else happens. */
export function whenIdle(run: () => void): void {
  if ('requestIdleCallback' in globalThis) requestIdleCallback(run)
  else setTimeout(run, REST_MS)
}
