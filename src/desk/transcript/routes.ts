import Elysia from 'elysia'
import { path } from '../../base/shapes/fields'
import { inOrganization } from '../../http/admission/authenticate'
import { isNamed, tagOf } from '../../http/request/tags'
import { TranscriptQuery } from './model'
import { transcriptOf } from './queries'

export const transcriptRoutes = new Elysia({ tags: ['Tickets'] })
  .use(inOrganization)

  .get(
    '/tickets/:ticket_id/transcript',
    async ({ scope, params, query, request }) => answer(await transcriptOf(scope, params.ticket_id, query), request),
    {
      params: path('ticket_id'),
      query: TranscriptQuery,
      detail: {
        summary: 'Get transcript',
        description:
          'The conversation as one text for language models, oldest first, without drafts. Each line of what a person ' +
          'wrote begins with `> `, and names, subjects and file names are JSON texts: nobody writes what could be taken ' +
          'for the rest. `[quotation]` stands where an email repeats others. At most 500 kB, of which the newest is kept',
        permission: 'tickets:read',
        and_permission: 'messages:read',
        responses: { 200: { description: 'Markdown, UTF-8', content: { 'text/markdown': {} } } },
      },
    },
  )

function answer(text: string, request: Request): Response {
  const etag = tagOf({ data: {} }, text)
  if (isNamed(request, etag)) return new Response(null, { status: 304, headers: { etag } })
  return new Response(text, { headers: { 'content-type': 'text/markdown; charset=utf-8', etag } })
}
