/** The models of ratings: what the contact of a ticket says of the help. */
import { Type } from '@sinclair/typebox'
import { RATING_SCORES } from '../../base/db/schema'
import { Instant, orNull } from '../../base/shapes/answers'
import { body, nullable, oneOf, optional, text } from '../../base/shapes/fields'

export const Rating = Type.Object({
  score: oneOf(RATING_SCORES, { description: 'What the contact says of the help' }),
  comment: orNull(Type.String({ description: "The contact's words, at most 1,000 characters. Null: none, or erased" })),
  rated_at: Instant,
})
export type Rating = typeof Rating.static

/** Characters of a comment. */
export const MOST_COMMENT = 1000

export const NewRating = body({
  score: oneOf(RATING_SCORES),
  comment: optional(nullable(text({ max: MOST_COMMENT, description: 'Null or blank: none' }))),
})
export type NewRating = typeof NewRating.static

/** The columns of a ticket that have its rating. */
export type RatingColumns = {
  rating_score: Rating['score'] | null
  rating_comment: string | null
  rated_at: string | null
}

export const RATING_COLUMNS = ['rating_score', 'rating_comment', 'rated_at'] as const satisfies (keyof RatingColumns)[]

/** The columns as answers show them. */
export function presentRating({ rating_score, rating_comment, rated_at }: RatingColumns): Rating | null {
  return rating_score === null || rated_at === null ? null : { score: rating_score, comment: rating_comment, rated_at }
}
