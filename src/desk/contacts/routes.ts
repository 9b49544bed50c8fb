import Elysia from 'elysia'
import { NoContent, one, pageOf } from '../../base/shapes/answers'
import { path } from '../../base/shapes/fields'
import { inOrganization } from '../../http/admission/authenticate'
import { created, data, done, inSteps } from '../../http/request/answer'
import { eraseWithin } from '../privacy/erase-within'
import { exportPerson } from '../privacy/export-person'
import { Erasure, Person } from '../privacy/model'
import { createContact, deleteContact, updateContact } from './commands'
import { Contact, ContactChanges, ContactFilter, ContactWithTickets, NewContact } from './model'
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
      codes: ['EMAIL_ALREADY_EXISTS'],
      idempotency: 'with the change',
    },
  })

  .get('/contacts/:contact_id', ({ scope, params }) => data(getContact(scope, params.contact_id)), {
    params: path('contact_id'),
    response: one(ContactWithTickets),
    detail: { summary: 'Get contact', permission: 'contacts:read' },
  })

  .patch('/contacts/:contact_id', ({ scope, params, body }) => data(updateContact(scope, params.contact_id, body)), {
    params: path('contact_id'),
    body: ContactChanges,
    response: one(ContactWithTickets),
    detail: { summary: 'Update contact', permission: 'contacts:write', codes: ['EMAIL_ALREADY_EXISTS'] },
  })

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
      idempotency: 'afterwards',
      description:
        'Removes the contact, and from its tickets all texts, subjects, files, names and addresses. Tickets, codes, times and amounts stay. It cannot be undone. After 25 seconds the answer is 503 and the work goes on: repeat the request until it answers 404, also after an interruption.',
    },
  })

  .delete('/contacts/:contact_id', ({ scope, params }) => done(deleteContact(scope, params.contact_id)), {
    params: path('contact_id'),
    response: { 204: NoContent },
    detail: { summary: 'Delete contact', permission: 'contacts:write' },
  })
