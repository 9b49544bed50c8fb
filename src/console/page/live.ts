/**
 * Data that stays as new as the service's while the page is seen: it is read again when an event is about it, and every
 * few seconds while no events come.
 */
import type { RefObject } from 'preact'
import { useCallback, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Refusal } from './api'
import { following, noticing, onEvent, type Told } from './events'

export const EVERY_MS = 5000
/** For what has no event of its own, such as a changed name. */
export const RARELY_MS = 900_000
/** Events of one change come together. */
const SOON_MS = 100
/** Events without a rest are heeded so often at first, then ever more seldom, down to the period. */
const BUSY_MS = 500

type Live<T> = {
  /** Undefined until it was read once. */
  value: T | undefined
  error: Refusal | undefined
  /** The value that was read last, also by a function that was made before. */
  latest(): T | undefined
  /** Reads it now. What is read is shown when it resolves, or what was asked for meanwhile. */
  reload(): Promise<void>
}

/**
 * @param key what is read; when it changes, the former value is dropped
 * @param load gets the former value, and may return it
 * @param every_ms how often it is read while no events come, or always when no event is about it; a function knows
 *   itself what comes
 * @param isAbout tells if an event is about it
 */
export function useLive<T>(
  key: string,
  load: (before: T | undefined, signal: AbortSignal) => Promise<T>,
  every_ms: number | ((value: T | undefined) => number) = EVERY_MS,
  isAbout?: (told: Told, value: T | undefined) => boolean,
): Live<T> {
  const [state, setState] = useState<{ key: string; value?: T; error?: Refusal }>({ key })
  const loading = useRef(load)
  loading.current = load
  const held = useRef<{ key: string; value?: T; turn: number; reading?: Promise<void> }>({ key, turn: 0 })
  if (held.current.key !== key) held.current = { key, turn: held.current.turn + 1 }

  const judging = useRef<((told: Told) => boolean) | undefined>(undefined)
  judging.current = isAbout && ((told) => isAbout(told, held.current.value))
  const resting = useRef<() => number>(() => EVERY_MS)
  resting.current = () => {
    if (typeof every_ms === 'function') return every_ms(held.current.value)
    return isAbout && following.value ? RARELY_MS : every_ms
  }

  const latest = useCallback(() => held.current.value, [])

  const read = async (signal: AbortSignal) => {
    const { key } = held.current
    const turn = ++held.current.turn
    try {
      const value = await loading.current(held.current.value, signal)
      if (held.current.key !== key) return
      // Tickets that were asked for meanwhile are newer, and come with it.
      if (held.current.turn !== turn) return held.current.reading
      held.current.value = value
      setState((before) =>
        before.key === key && Object.is(before.value, value) && !before.error ? before : { key, value },
      )
    } catch (error) {
      if (signal.aborted || held.current.key !== key) return
      if (!(error instanceof Refusal)) throw error
      setState((before) => ({ key, value: before.key === key ? before.value : undefined, error }))
    }
  }
  const reload = useCallback((signal = new AbortController().signal) => {
    held.current.reading = read(signal)
    return held.current.reading
  }, [])

  const period = typeof every_ms === 'number' ? every_ms : 0
  // Asks before the page is painted: the answer comes a frame earlier.
  useLayoutEffect(() => keepNew(reload, resting, judging, period || EVERY_MS), [key, period, reload])

  const is_now = state.key === key
  return { value: is_now ? state.value : undefined, error: is_now ? state.error : undefined, latest, reload }
}

/** Reads at once, and again and again. @returns what ends it */
function keepNew(
  reload: (signal: AbortSignal) => Promise<void>,
  resting: RefObject<() => number>,
  judging: RefObject<((told: Told) => boolean) | undefined>,
  most_busy_ms: number,
): () => void {
  const stop = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  let soon: ReturnType<typeof setTimeout> | undefined
  let read_ms = 0
  let busy_ms = BUSY_MS
  const plan = () => {
    clearTimeout(timer)
    if (!stop.signal.aborted) timer = setTimeout(round, resting.current!())
  }
  const round = async () => {
    clearTimeout(timer)
    clearTimeout(soon)
    soon = undefined
    read_ms = performance.now()
    if (!document.hidden) await reload(stop.signal)
    plan()
  }
  const onTold = (told: Told | undefined) => {
    const isAbout = judging.current
    if (soon || !isAbout || (told && !isAbout(told))) return
    const passed_ms = performance.now() - read_ms
    busy_ms = passed_ms < 2 * busy_ms ? Math.min(2 * busy_ms, most_busy_ms) : BUSY_MS
    soon = setTimeout(round, Math.max(SOON_MS, busy_ms - passed_ms))
  }
  const onSeen = () => void (document.hidden || round())
  document.addEventListener('visibilitychange', onSeen)
  const ends = [onEvent(onTold), following.listen(plan), noticing.listen(plan)]
  void round()
  return () => {
    stop.abort()
    clearTimeout(timer)
    clearTimeout(soon)
    for (const end of ends) end()
    document.removeEventListener('visibilitychange', onSeen)
  }
}

/** Soon after an event: what follows it comes with it. */
const TOGETHER_MS = 500

/**
 * Reads at once, and soon after events about tickets, at most once in `least_ms`. Without a stream of events it reads
 * every `idle_ms`. This goes on while the page is hidden. @returns a function that ends it
 */
export function readNowAndThen(read: () => unknown, least_ms: number, idle_ms: number): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  let read_ms = -least_ms
  const run = () => {
    timer = undefined
    read_ms = performance.now()
    void read()
  }
  /** Events begin soon after the first reading: that is no reason for another. */
  const hasRested = () => performance.now() - read_ms > least_ms
  const onTold = (told: Told | undefined) => {
    const is_about = told ? told.type.startsWith('ticket.') || told.type === 'message.created' : hasRested()
    if (!is_about) return
    timer ??= setTimeout(run, Math.max(TOGETHER_MS, read_ms + least_ms - performance.now()))
  }
  const idle = setInterval(() => (following.value && performance.now() - read_ms < RARELY_MS) || run(), idle_ms)
  const end = onEvent(onTold)
  run()
  return () => {
    clearTimeout(timer)
    clearInterval(idle)
    end()
  }
}
