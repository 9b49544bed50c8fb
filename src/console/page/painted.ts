/** Lets the page be seen before all of it is drawn. */
import { useEffect, useState } from 'preact/hooks'

/**
 * Tells if something has been painted once. The rest, which is out of sight or beside it, is drawn then.
 * @param what is painted: another one begins anew
 */
export function usePainted(what: string): boolean {
  const [painted, setPainted] = useState<string>()
  useEffect(() => setPainted(what), [what])
  return painted === what
}
