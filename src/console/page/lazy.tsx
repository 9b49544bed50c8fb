/** Views in files of their own, which are loaded when they are first shown. */
import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Skeleton } from './ui/placeholders'
import { attempt } from './ui/toasts'

/**
 * A view that is loaded when it is first shown; until then lines stand in its place.
 * @param load imports the file and gives its component
 */
export function lazy<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let loaded: ComponentType<P> | undefined
  return (props: P) => {
    const [Part, setPart] = useState<ComponentType<P> | undefined>(() => loaded)
    useEffect(() => {
      if (Part) return
      void attempt(async () => {
        loaded = await load()
        setPart(() => loaded)
      })
    }, [])
    return Part ? <Part {...props} /> : <Skeleton />
  }
}
