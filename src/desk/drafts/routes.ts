import Elysia from 'elysia'
import { NoContent, one, pageOf } from '../../base/shapes/answers'
import { path } from '../../base/shapes/fields'
import { inOrganization } from '../../http/admission/authenticate'
import { created, data, done, inSteps } from '../../http/request/answer'
import { Message } from '../messages/model'
import { createDraft, deleteDraft, sendDraft, updateDraft } from './commands'
import { Draft, DraftChanges, DraftFilter, DraftSending, NewDraft } from './model'
import { type DraftPage, getDraft, listDrafts } from './queries'

/** The tag that a draft must still have. */
const tagOf = (request: Request) => request.headers.get('if-match')

export const draftRoutes = new Elysia({
  tags: ['Drafts'],
  detail: { about: 'Replies and notes that are not sent yet, of people and of programs.' },
})
  .use(inOrganization)

  .get('/drafts', async ({ scope, query }) => inSteps<DraftPage>(await listDrafts(scope, query)), {
    query: DraftFilter,
    response: pageOf(Draft),
    detail: { summary: 'List drafts', description: 'Newest first', permission: 'drafts:read' },
  })

  .post(
    '/tickets/:ticket_id/drafts',
    ({ scope, params, body }) => created(createDraft(scope, params.ticket_id, body)),
    {
      params: path('ticket_id'),
      body: NewDraft,
      response: { 201: one(Draft) },
      detail: {
        summary: 'Create draft',
        description:
          'A person has one reply and one note in a ticket, an API key at most 20; and 20 replies of people are sent later',
        permission: 'drafts:write',
        codes: ['DRAFT_EXISTS'],
        codes_422: ['ATTACHMENT_INFECTED'],
        idempotency: 'by its command',
      },
    },
  )

  .get('/drafts/:draft_id', ({ scope, params }) => data(getDraft(scope, params.draft_id)), {
    params: path('draft_id'),
    response: one(Draft),
    detail: { summary: 'Get draft', permission: 'drafts:read' },
  })

  .patch(
    '/drafts/:draft_id',
    ({ scope, params, body, request }) => data(updateDraft(scope, params.draft_id, body, tagOf(request))),
    {
      params: path('draft_id'),
      body: DraftChanges,
      response: one(Draft),
      detail: {
        summary: 'Update draft',
        description: 'Its author may, and people with what an API key has written',
        permission: 'drafts:write',
        codes: ['DRAFT_EXISTS'],
        codes_422: ['ATTACHMENT_INFECTED'],
        if_match: 'by its command',
      },
    },
  )

  .delete(
    '/drafts/:draft_id',
    ({ scope, params, request }) => done(deleteDraft(scope, params.draft_id, tagOf(request))),
    {
      params: path('draft_id'),
      response: { 204: NoContent },
      detail: {
        summary: 'Delete draft',
        description: 'With its attachments. Whoever may change it may, and admins',
        permission: 'drafts:write',
        if_match: 'by its command',
      },
    },
  )

  .post(
    '/drafts/:draft_id/send',
    ({ scope, params, body, request }) => created(sendDraft(scope, params.draft_id, body, tagOf(request))),
    {
      params: path('draft_id'),
      body: DraftSending,
      response: { 201: one(Message) },
      detail: {
        summary: 'Send draft',
        description:
          'Makes a message of the caller, and the draft is gone. `DRAFT_STALE` when public messages have come that its ' +
          'author has not seen: `details.message_ids` has the first 100',
        permission: 'messages:write',
        codes: ['DRAFT_STALE', 'EMAIL_SEND_FAILED'],
        codes_422: ['ATTACHMENT_INFECTED'],
        has_optional_body: true,
        idempotency: 'by its command',
        removes_path: true,
        if_match: 'by its command',
      },
    },
  )
