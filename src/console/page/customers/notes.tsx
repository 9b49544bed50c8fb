/** The notes about a customer, below a heading; nothing when there are none. */
import { t } from '../words/catalogue'

export function Notes({ text }: { text: string | null }) {
  if (!text) return null
  return (
    <>
      <h2>{t('field.notes')}</h2>
      <p class="words" dir="auto">
        {text}
      </p>
    </>
  )
}
