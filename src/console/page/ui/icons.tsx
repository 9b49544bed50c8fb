/** Icons of Lucide: only those that a part imports are in the bundle. */
import type { IconNode } from 'lucide'
import { h } from 'preact'

/** An icon. Words beside it, or the label of its button, say what it means. @param size in pixels */
export function Icon({ of, size = 16 }: { of: IconNode; size?: number }) {
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 24 24" aria-hidden="true">
      {of.map(([tag, attributes]) => h(tag, attributes))}
    </svg>
  )
}
