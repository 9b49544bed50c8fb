/**
 * Data that stays as new as the service's while the page is seen: events change it, or it is read again because of
 * them, and every few seconds while no events come.
 */
import type { RefObject } from 'preact'
import { useCallback, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Refusal } from './api'
import { following, isPlaceKept, noticing, onEvent, type Told, whenFollowed } from './events'

export const EVERY_MS = 5000
/** For what has no event of its own, such as a changed name. */
export const RARELY_MS = 900_000
/** Events of one change come together. */
const SOON_MS = 100
/** Events without a rest are heeded so often at first, then ever more seldom, down to the period. */
const BUSY_MS = 500

/** Heeds an event. @returns the value that follows; true: it has to be read again; false: nothing changes */
export type Heed<T> = (told: Told, value: T | undefined) => T | boolean

type Live<T> = {
  /** Undefined until it was read once. */
  value: T | undefined
  error: Refusal | undefined
  /** The value that was read last, also by a function that was made before. */
  latest(): T | undefined
  /** Shows a value that is known without reading. */
  put(value: T): void
  /** Reads it now. What is read is shown when it resolves, or what was asked for meanwhile. */
  reload(): Promise<void>
}

/**
 * @param key what is read; when it changes, the former value is dropped
 * @param load gets the former value, and may return it
 * @param every_ms how often it is read while no events come, or always when none is heeded; a function knows itself
 *   what comes
 */
export function useLive<T extends object | string | number | null | undefined>(
  key: string,
  load: (before: T | undefined, signal: AbortSignal) => Promise<T>,
  every_ms: number | ((value: T | undefined) => number) = EVERY_MS,
  heed?: Heed<T>,
): Live<T> {
  const [state, setState] = useState<{ key: string; value?: T; error?: Refusal }>({ key })
  const loading = useRef(load)
  loading.current = load
  const held = useRef<Held<T>>({ key, turn: 0 })
  if (held.current.key !== key) held.current = { key, turn: held.current.turn + 1 }

  const put = useCallback((value: T) => {
    if (Object.is(held.current.value, value)) return
    held.current.value = value
    setState({ key: held.current.key, value })
  }, [])
  const { heeding, begin, withMissed } = useHeed(heed, held, put)
  const resting = useRef<() => number>(() => EVERY_MS)
  resting.current = () => {
    if (typeof every_ms === 'function') return every_ms(held.current.value)
    return heed && following.value ? RARELY_MS : every_ms
  }

  const latest = useCallback(() => held.current.value, [])

  const read = async (signal: AbortSignal) => {
    const { key } = held.current
    const turn = ++held.current.turn
    begin()
    try {
      await whenFollowed()
      const read = await loading.current(held.current.value, signal)
      if (held.current.key !== key) return
      // Tickets that were asked for meanwhile are newer, and come with it.
      if (held.current.turn !== turn) return held.current.reading
      const { value } = Object.assign(held.current, { value: withMissed(read), reading: undefined })
      setState((before) =>
        before.key === key && Object.is(before.value, value) && !before.error ? before : { key, value },
      )
    } catch (error) {
      if (signal.aborted || held.current.key !== key) return
      held.current.reading = undefined
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
  useLayoutEffect(() => keepNew(reload, resting, heeding, period || EVERY_MS), [key, period, reload])

  const is_now = state.key === key
  return { value: is_now ? state.value : undefined, error: is_now ? state.error : undefined, latest, put, reload }
}

type Held<T> = { key: string; value?: T; turn: number; reading?: Promise<void> | undefined }

/** Heeds events, also those that come while something is read: the answer may be of before. */
function useHeed<T>(heed: Heed<T> | undefined, held: RefObject<Held<T>>, put: (value: T) => void) {
  const latest = useRef(heed)
  latest.current = heed
  const missed = useRef<Told[]>([])
  const heeding = useRef<((told: Told) => boolean) | undefined>(undefined)
  heeding.current =
    heed &&
    ((told) => {
      if (held.current!.reading) missed.current.push(told)
      const value = heed(told, held.current!.value)
      if (typeof value === 'boolean') return value
      put(value)
      return false
    })
  return {
    heeding,
    begin() {
      missed.current = []
    },
    withMissed(read: T): T {
      let value = read
      for (const told of missed.current) {
        const next = latest.current?.(told, value) ?? false
        if (typeof next !== 'boolean') value = next
      }
      return value
    },
  }
}

/** Reads at once, and again and again. @returns what ends it */
function keepNew(
  reload: (signal: AbortSignal) => Promise<void>,
  resting: RefObject<() => number>,
  heeding: RefObject<((told: Told) => boolean) | undefined>,
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
    const heed = heeding.current
    if (!heed || (told && !heed(told)) || soon) return
    const passed_ms = performance.now() - read_ms
    busy_ms = passed_ms < 2 * busy_ms ? Math.min(2 * busy_ms, most_busy_ms) : BUSY_MS
    soon = setTimeout(round, Math.max(SOON_MS, busy_ms - passed_ms))
  }
  const onSeen = () => void (document.hidden || (heeding.current && isPlaceKept()) || round())
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
