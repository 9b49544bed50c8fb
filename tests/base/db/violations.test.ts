import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { isNodeAway, violatedBy, violates } from '../../../src/base/db/violations'
import { createOrganization, startApi, stopApi } from '../../support/api'

/** An error as the driver makes it. */
const failure = (code: string, message: string, constraint_name?: string) =>
  Object.assign(new Error(message), { code, constraint_name })

test.each([
  ['duplicate key value violates unique constraint "labels_name_102035"', 'labels_name'],
  ['doppelter Schlüsselwert verletzt Unique-Constraint »labels_name_102035«', 'labels_name'],
  ['la valeur d’une clé dupliquée rompt la contrainte unique « labels_name_102035 »', 'labels_name'],
  [
    'update or delete on table "companies_102010" violates foreign key constraint "contacts_company_fk_102018" on table "contacts_102018"',
    'contacts_company_fk',
  ],
])('of a machine of a cluster: %s', (message, constraint) => {
  expect(violates(failure('23505', message), constraint)).toBeTrue()
  expect(violates(failure('23505', message), 'labels')).toBeFalse()
  expect(violates(new Error('failed', { cause: failure('23505', message) }), constraint)).toBeTrue()
})

test.each([
  ['08006', 'connection to the remote node postgres@10.0.0.12:5432 failed', true],
  ['XX000', 'failure on connection marked as essential: 10.0.0.12:5432', true],
  ['XX000', 'server closed the connection unexpectedly', true],
  ['XX000', 'could not commit transaction for shard 102123 on at least one active node', true],
  ['XX000', 'cache lookup failed for type 17', false],
  ['57014', 'canceling statement due to statement timeout', false],
])('%s %s: a node is away is %p', (code, message, is_away) => {
  expect(isNodeAway(failure(code, message))).toBe(is_away)
})

test('the field of the protocol comes before the message', () => {
  const error = failure('23503', 'violates "a" on table "b"', 'tickets_contact_fk_102018')
  expect(violatedBy(error)).toEqual(['tickets_contact_fk'])
})

test('other failures are due to no constraint', () => {
  expect(violatedBy(failure('42P01', 'relation "labels" does not exist'))).toEqual([])
  expect(violatedBy(new Error('the name is "labels"'))).toEqual([])
})

describe('of the database', () => {
  beforeAll(() => startApi())
  afterAll(stopApi)

  test('unique indexes and foreign keys are told apart', async () => {
    const { id: organization_id, scope } = await createOrganization()
    const { sql } = scope
    const label = { organization_id, id: newId(), name: 'Name', color: '#000000' }
    await sql`insert into labels ${sql(label)}`
    const twice = sql`insert into labels ${sql({ ...label, id: newId() })}`
    expect(await twice.catch((error) => violates(error, 'labels_name'))).toBeTrue()
    const contact = {
      organization_id,
      id: newId(),
      name: 'x',
      email: 'x',
      email_key: 'x',
      search: 'x',
      company_id: newId(),
    }
    const astray = sql`insert into contacts ${sql(contact)}`
    expect(await astray.catch((error) => violates(error, 'contacts_company_fk'))).toBeTrue()
  })
})
