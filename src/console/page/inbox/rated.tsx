/** The rating of a ticket by its contact. */
import { ThumbsDown, ThumbsUp } from 'lucide'
import type { Rating } from '../../../desk/ratings/model'
import { Mark } from '../ui/marks'
import { Time } from '../ui/measures'
import { t } from '../words/catalogue'

const ICONS = { good: ThumbsUp, bad: ThumbsDown }

/** The score as a sign. */
export function RatingMark({ score, size = 12 }: { score: Rating['score']; size?: number }) {
  return <Mark kind={score} icon={ICONS[score]} size={size} title={t(`rating.${score}`)} />
}

/** The rating beside the conversation, with the contact's words. */
export function RatingPart({ rating }: { rating: Rating | null }) {
  if (!rating) return null
  const { score, comment, rated_at } = rating
  return (
    <section>
      <h2>{t('rating.rating')}</h2>
      <p class="rated">
        <RatingMark score={score} size={16} /> <span aria-hidden="true">{t(`rating.${score}`)}</span> ·{' '}
        <Time at={rated_at} />
      </p>
      {comment && (
        <p class="rating-words" dir="auto">
          {comment}
        </p>
      )}
    </section>
  )
}
