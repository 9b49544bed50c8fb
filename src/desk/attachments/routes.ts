import Elysia from 'elysia'
import { organizationOfUrl } from '../../base/attachment-url'
import { one } from '../../base/shapes/answers'
import { path } from '../../base/shapes/fields'
import { inOrganization } from '../../http/admission/authenticate'
import { created, data } from '../../http/request/answer'
import { uploadAttachment } from './commands'
import { contentResponse } from './content'
import { Attachment } from './model'
import { getAttachment } from './queries'

export const attachmentRoutes = new Elysia({
  tags: ['Attachments'],
  detail: { about: 'Files: uploaded on their own, then named by a message or a draft.' },
})
  .use(inOrganization)

  .post('/attachments', ({ scope, request }) => created(uploadAttachment(scope, request)), {
    parse: 'none',
    response: { 201: one(Attachment) },
    detail: {
      summary: 'Upload attachment',
      permission: 'messages:write',
      or_permission: 'drafts:write',
      codes_422: ['ATTACHMENT_INFECTED'],
      idempotency: 'afterwards',
      requestBody: {
        required: true,
        content: {
          'multipart/form-data': {
            schema: { type: 'object', required: ['file'], properties: { file: { type: 'string', format: 'binary' } } },
          },
        },
      },
    },
  })

  .get('/attachments/:attachment_id', ({ scope, params }) => data(getAttachment(scope, params.attachment_id)), {
    params: path('attachment_id'),
    response: one(Attachment),
    detail: { summary: 'Get attachment', permission: 'messages:read' },
  })

  .get(
    '/attachments/:attachment_id/content',
    ({ scope, params, request }) => contentResponse(scope, params.attachment_id, request),
    {
      params: path('attachment_id'),
      detail: {
        summary: 'Download attachment',
        permission: 'messages:read',
        codes: ['ATTACHMENT_INFECTED'],
        link: organizationOfUrl,
        description: 'The bytes. Needs a bearer token or the signature that the `url` of an attachment carries.',
        responses: {
          200: { description: 'The bytes', content: { '*/*': {} } },
          206: { description: 'The range that was asked for', content: { '*/*': {} } },
          304: { description: 'Unchanged' },
          416: { description: 'The range cannot be satisfied' },
        },
      },
    },
  )
