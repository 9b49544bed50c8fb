import Elysia from 'elysia'
import { data } from '../http/answer'
import { inOrganization } from '../http/authenticate'
import { NoContent, one, pageOf } from '../shapes/answers'
import { path } from '../shapes/fields'
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

  .post('/contacts', async ({ scope, body, status }) => status(201, await data(createContact(scope, body))), {
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

  .delete(
    '/contacts/:contact_id',
    async ({ scope, params, status }) => {
      await deleteContact(scope, params.contact_id)
      return status(204, undefined)
    },
    {
      params: path('contact_id'),
      response: { 204: NoContent },
      detail: { summary: 'Delete contact', permission: 'contacts:write' },
    },
  )
