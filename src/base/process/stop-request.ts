/** Notices that this process is asked to end: by a signal, or because what started it was killed. */

/** The same signal within this time is one Ctrl-C: the terminal sends it, and npm or `bun run` passes it on. */
const SAME_SIGNAL_MS = 200
const PARENT_LOOK_MS = 500

/** Read at once, because the parent may be killed before the service has begun. */
const PARENT = process.ppid

/**
 * Calls `stop` at every request to end, with the signal. npm and `bun run` pass no signal on when they are killed; this
 * process then gets another parent, which counts as SIGTERM.
 */
export function onStopRequest(stop: (signal: string) => void): void {
  const last = new Map<string, number>()
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      const now = performance.now()
      const is_new = now - (last.get(signal) ?? Number.NEGATIVE_INFINITY) > SAME_SIGNAL_MS
      last.set(signal, now)
      if (is_new) stop(signal)
    })
  }
  if (process.env.npm_lifecycle_event) stopWithParent(stop)
}

function stopWithParent(stop: (signal: string) => void) {
  const watch = setInterval(() => {
    if (process.ppid === PARENT) return
    clearInterval(watch)
    stop('SIGTERM')
  }, PARENT_LOOK_MS)
  watch.unref()
}
