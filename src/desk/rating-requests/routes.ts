import Elysia from 'elysia'
import { codePoints } from '../../base/address/characters'
import { RATING_SCORES } from '../../base/db/schema'
import { ApiError } from '../../base/errors'
import type { Language } from '../../base/language'
import { one } from '../../base/shapes/answers'
import { path } from '../../base/shapes/fields'
import { storable } from '../../base/shapes/fold'
import { inOrganization, scopeOfLink } from '../../http/admission/authenticate'
import { countCustomer } from '../../http/admission/rate-limit'
import { data } from '../../http/request/answer'
import { originOf } from '../../http/request/request'
import { readForm } from '../../http/request/request-body'
import { MOST_COMMENT, type NewRating } from '../ratings/model'
import { readRatingToken } from '../ratings/rating-link'
import { readWriter } from '../ratings/written-language'
import { Ticket } from '../tickets/model'
import { findByLink, rateByLink, requestRating } from './commands'
import { limitPage, overPage, questionPage, thanksPage } from './rating-page'

export const ratingRequestRoutes = new Elysia({
  tags: ['Ratings'],
  detail: { about: 'Asking the contact of a ticket how the help was.' },
})
  .use(inOrganization)
  .post('/tickets/:ticket_id/rating-request', ({ scope, params }) => data(requestRating(scope, params.ticket_id)), {
    params: path('ticket_id'),
    response: one(Ticket),
    detail: {
      summary: 'Ask for a rating',
      description: 'Once, by mail, when the ticket is resolved or closed',
      permission: 'messages:write',
      codes: ['TICKET_MERGED', 'INVALID_STATUS', 'EMAIL_SEND_FAILED', 'RATING_REQUESTED'],
      idempotency: 'with the change',
    },
  })

/** The page of a link, at the origin. */
export const ratingPageRoutes = new Elysia({ name: 'rate', detail: { hide: true, permission: 'anyone' } })
  .get('/rate/:token', ({ request, params }) =>
    byLink(request, params.token, async (found) => {
      const score = new URL(request.url).searchParams.get('score')
      return questionPage(found.language, { ...found, score, comment: '' })
    }),
  )
  .post(
    '/rate/:token',
    ({ request, params }) =>
      byLink(request, params.token, async (found) => {
        const { score, comment } = await readAnswer(request)
        if (!score) return questionPage(found.language, { ...found, score: null, comment, fault: 'choose' })
        if (codePoints(comment) > MOST_COMMENT) {
          return questionPage(found.language, { ...found, score, comment, fault: 'too_long' })
        }
        await rateByLink(found.scope, found.id, { score, comment })
        return thanksPage(found.language)
      }),
    { parse: 'none' },
  )

type Found = Awaited<ReturnType<typeof findLink>>

/** Answers the request of a link, also when that is good for nothing, by a page. */
async function byLink(request: Request, token: string, answer: (found: Found) => Promise<Response>): Promise<Response> {
  const preferred: Language = /^\s*de\b/i.test(request.headers.get('accept-language') ?? '') ? 'german' : 'english'
  const headers: Record<string, string> = {}
  try {
    await countCustomer(`address ${originOf(request).ip}`, request.method, headers)
    return await answer(await findLink(request, token))
  } catch (error) {
    if (!(error instanceof ApiError) || error.status >= 500) throw error
    return error.code === 'RATE_LIMITED' ? limitPage(preferred, headers) : overPage(preferred)
  }
}

/** @throws TICKET_NOT_FOUND */
async function findLink(request: Request, token: string) {
  const asked = readRatingToken(token)
  if (!asked) throw new ApiError('TICKET_NOT_FOUND')
  const scope = scopeOfLink(request, asked.organization_id)
  const ticket = await findByLink(scope, asked.id)
  const { language } = await readWriter(scope, ticket)
  return { id: asked.id, scope, language, ...ticket }
}

/** Reads the form. @throws BAD_REQUEST, PAYLOAD_TOO_LARGE */
async function readAnswer(request: Request): Promise<{ score: NewRating['score'] | undefined; comment: string }> {
  const form = await readForm(request)
  const comment = storable((form.get('comment') ?? '').replace(/\r\n?/g, '\n').trim())
  return { score: RATING_SCORES.find((one) => one === form.get('score')), comment }
}
