import Elysia from 'elysia'
import { NoContent, one, pageOf } from '../../base/shapes/answers'
import { ExternalIdPath } from '../../base/shapes/external-id'
import { path } from '../../base/shapes/fields'
import { inOrganization } from '../../http/admission/authenticate'
import { created, data, done, inSteps } from '../../http/request/answer'
import { requireTag } from '../../http/request/tags'
import { eraseWithin } from '../privacy/erase-within'
import { exportPerson } from '../privacy/export-person'
import { Erasure, Person } from '../privacy/model'
import { createContact, deleteContact, putContact, updateContact } from './commands'
import { mergeContacts } from './merge-contacts'
import {
  Contact,
  ContactByExternalId,
  ContactChanges,
  ContactFilter,
  ContactMerge,
  ContactWithTickets,
  NewContact,
} from './model'
import { getContact, listContacts } from './queries'

export const contactRoutes = new Elysia({ tags: ['Contacts'], detail: { about: 'Customers.' } })
  .use(inOrganization)

  .get('/contacts', ({ scope, query }) => listContacts(scope, query), {
    query: ContactFilter,
    response: pageOf(Contact),
    detail: { summary: 'List contacts', permission: 'contacts:read' },
  })

  .post('/contacts', ({ scope, body }) => created(createContact(scope, body)), {
    body: NewContact,
    response: { 201: one(ContactWithTickets) },
    detail: {
      summary: 'Create contact',
      permission: 'contacts:write',
      codes: ['EMAIL_ALREADY_EXISTS', 'EXTERNAL_ID_EXISTS'],
      idempotency: 'with the change',
    },
  })

  .put(
    '/contacts/by-external-id/:external_id',
    async ({ request, scope, params, body }) => {
      const header = request.headers.get('if-match')
      const judge = (contact: ContactWithTickets | undefined) => requireTag(header, contact && { data: contact })
      const { contact, is_new } = await putContact(scope, params.external_id, body, judge)
      return is_new ? created(Promise.resolve(contact)) : data(contact)
    },
    {
      params: ExternalIdPath,
      body: ContactByExternalId,
      response: { 200: one(ContactWithTickets), 201: one(ContactWithTickets) },
      detail: {
        summary: 'Create or update contact',
        description:
          'Changes the contact with this external id, or the one without any that has the `email`, as PATCH does: 200. Else creates one, which needs `name` and `email`: 201.',
        permission: 'contacts:write',
        codes: ['EMAIL_ALREADY_EXISTS'],
        if_match: 'by its command',
      },
    },
  )

  .get('/contacts/:contact_id', ({ scope, params }) => data(getContact(scope, params.contact_id)), {
    params: path('contact_id'),
    response: one(ContactWithTickets),
    detail: { summary: 'Get contact', permission: 'contacts:read' },
  })

  .patch('/contacts/:contact_id', ({ scope, params, body }) => data(updateContact(scope, params.contact_id, body)), {
    params: path('contact_id'),
    body: ContactChanges,
    response: one(ContactWithTickets),
    detail: {
      summary: 'Update contact',
      permission: 'contacts:write',
      codes: ['EMAIL_ALREADY_EXISTS', 'EXTERNAL_ID_EXISTS'],
    },
  })

  .post(
    '/contacts/:contact_id/merge',
    ({ scope, params, body }) => data(mergeContacts(scope, params.contact_id, body)),
    {
      params: path('contact_id'),
      body: ContactMerge,
      response: one(ContactWithTickets),
      detail: {
        summary: 'Merge contacts',
        description:
          'Addresses, tickets and participations of the sources become those of this contact, and what it lacks of phone, company, notes and external id comes from them. The sources are then 404 with `merged_into`. It cannot be undone. With thousands of tickets it goes on after 25 seconds, with a 503: until it ends other writes to these contacts get that, too.',
        permission: 'contacts:write',
        codes: ['ON_HOLD'],
        idempotency: 'afterwards',
      },
    },
  )

  .get(
    '/contacts/:contact_id/export',
    async ({ scope, params }) => inSteps<{ data: Person }>({ data: await exportPerson(scope, params.contact_id) }),
    {
      params: path('contact_id'),
      response: one(Person),
      detail: {
        summary: 'Export person',
        permission: 'admin',
        description: 'All that is kept of a person, streamed. The `url` of a file works for an hour.',
      },
    },
  )

  .post('/contacts/:contact_id/erase', ({ scope, params }) => data(eraseWithin(scope, params.contact_id)), {
    params: path('contact_id'),
    response: one(Erasure),
    detail: {
      summary: 'Erase person',
      permission: 'admin',
      codes: ['ON_HOLD'],
      idempotency: 'afterwards',
      description:
        'Removes the contact, and from its tickets all texts, subjects, files, names and addresses. Tickets, codes, times and amounts stay. It cannot be undone. After 25 seconds the answer is 503 and the work goes on by itself. Ask again: 200 or 404 says that all of it is done.',
    },
  })

  .delete('/contacts/:contact_id', ({ scope, params }) => done(deleteContact(scope, params.contact_id)), {
    params: path('contact_id'),
    response: { 204: NoContent },
    detail: { summary: 'Delete contact', permission: 'contacts:write', codes: ['ON_HOLD'] },
  })
