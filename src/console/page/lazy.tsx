/** Views in files of their own, which are loaded when they are first shown. */
import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Skeleton } from './ui/placeholders'
import { attempt } from './ui/toasts'

type Lazy<P> = ComponentType<P> & {
  /** Loads it before it is shown; a fault comes again when it is. */
  preload(): void
}

/**
 * A view that is loaded when it is first shown; until then lines stand in its place.
 * @param load imports the file and gives its component
 */
export function lazy<P extends object>(load: () => Promise<ComponentType<P>>): Lazy<P> {
  let loaded: ComponentType<P> | undefined
  const read = async () => {
    loaded = await load()
  }
  const View = (props: P) => {
    const [Part, setPart] = useState<ComponentType<P> | undefined>(() => loaded)
    useEffect(() => {
      if (Part) return
      void attempt(async () => {
        await read()
        setPart(() => loaded)
      })
    }, [])
    return Part ? <Part {...props} /> : <Skeleton />
  }
  return Object.assign(View, { preload: () => void read().catch(() => {}) })
}
