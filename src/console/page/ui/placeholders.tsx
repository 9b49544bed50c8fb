/** Placeholders where there is nothing, or nothing yet. */
import type { IconNode } from 'lucide'
import type { ComponentChildren } from 'preact'
import type { Refusal } from '../api'
import { t } from '../words/catalogue'
import { Icon } from './icons'

type EmptyProps = { icon: IconNode; title: string; children?: ComponentChildren }

/** Says that there is nothing, and in `children` what to do. */
export function Empty({ icon, title, children }: EmptyProps) {
  return (
    <div class="nothing">
      <Icon of={icon} size={32} />
      <h2>{title}</h2>
      {children}
    </div>
  )
}

/** Lines of about the size of what is being read, so that nothing jumps when it comes. */
export function Skeleton({ lines = 6 }: { lines?: number }) {
  return (
    <div class="skeleton" role="status" aria-label={t('ui.loading')}>
      {Array.from({ length: lines }, (_, line) => (
        <i key={line} />
      ))}
    </div>
  )
}

/** The view while a list is read, or when it cannot be. */
export function Waiting({ error, lines }: { error: Refusal | undefined; lines?: number }) {
  if (!error) return <Skeleton lines={lines} />
  return (
    <p class="empty" role="alert">
      {error.text}
    </p>
  )
}
