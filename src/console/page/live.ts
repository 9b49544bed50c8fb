/** Data that stays as new as the service's: it is read again every few seconds while the page is seen. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { Refusal } from './api'

export const EVERY_MS = 5000

type Live<T> = {
  /** Undefined until it was read once. */
  value: T | undefined
  error: Refusal | undefined
  /** The value that was read last, also by a function that was made before. */
  latest(): T | undefined
  /** Reads it now. */
  reload(): Promise<void>
}

/**
 * @param key what is read; when it changes, the former value is dropped
 * @param load gets the former value, and may return it
 */
export function useLive<T>(
  key: string,
  load: (before: T | undefined, signal: AbortSignal) => Promise<T>,
  every_ms = EVERY_MS,
): Live<T> {
  const [state, setState] = useState<{ key: string; value?: T; error?: Refusal }>({ key })
  const loading = useRef(load)
  loading.current = load
  const held = useRef<{ key: string; value?: T; turn: number }>({ key, turn: 0 })
  if (held.current.key !== key) held.current = { key, turn: held.current.turn + 1 }

  const latest = useCallback(() => held.current.value, [])

  const reload = useCallback(async (signal = new AbortController().signal) => {
    const { key } = held.current
    const turn = ++held.current.turn
    try {
      const value = await loading.current(held.current.value, signal)
      // What was asked for meanwhile is newer.
      if (held.current.key !== key || held.current.turn !== turn) return
      held.current.value = value
      setState((before) =>
        before.key === key && Object.is(before.value, value) && !before.error ? before : { key, value },
      )
    } catch (error) {
      if (signal.aborted || held.current.key !== key) return
      if (!(error instanceof Refusal)) throw error
      setState((before) => ({ key, value: before.key === key ? before.value : undefined, error }))
    }
  }, [])

  useEffect(() => {
    const stop = new AbortController()
    let timer: ReturnType<typeof setTimeout>
    const round = async () => {
      clearTimeout(timer)
      if (!document.hidden) await reload(stop.signal)
      if (!stop.signal.aborted) timer = setTimeout(round, every_ms)
    }
    const onSeen = () => void (document.hidden || round())
    document.addEventListener('visibilitychange', onSeen)
    void round()
    return () => {
      stop.abort()
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', onSeen)
    }
  }, [key, every_ms, reload])

  const is_now = state.key === key
  return { value: is_now ? state.value : undefined, error: is_now ? state.error : undefined, latest, reload }
}
