import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { createOrganization, type Organization, startApi, stopApi } from '../../support/api'
import { createLabel } from '../../support/factories'
import { POLICED } from '../../support/policed'

let own: Organization
let other: Organization

beforeAll(async () => {
  await startApi()
  own = await createOrganization()
  other = await createOrganization()
  await createLabel(own.admin)
  await createLabel(other.admin)
})
afterAll(stopApi)

const SEES = /sees labels of another/

describe.skipIf(!process.env[POLICED])('a statement for one organization, in a run with policies,', () => {
  test('sees its own rows', async () => {
    const { sql, organization_id } = own.scope
    expect(await sql`select from labels where organization_id = ${organization_id}`).toHaveLength(1)
    expect(await sql`update labels set name = 'new' where organization_id = ${organization_id}`).toHaveProperty(
      'count',
      1,
    )
  })

  test('fails when it sees those of another', async () => {
    const { sql } = own.scope
    await expect(sql`select from labels`.execute()).rejects.toThrow(SEES)
    await expect(sql`select from labels where organization_id = ${other.id}`.execute()).rejects.toThrow(SEES)
    await expect(sql`update labels set name = 'mine'`.execute()).rejects.toThrow(SEES)
    await expect(sql`delete from labels where organization_id <> ${own.id}`.execute()).rejects.toThrow(SEES)
  })

  test('fails when it writes one of another', async () => {
    const { sql } = own.scope
    const insert = sql`insert into labels (organization_id, id, name, color) values (${other.id}, ${newId()}, 'new', '#112233')`
    await expect(insert.execute()).rejects.toThrow(SEES)
    const move = sql`update labels set organization_id = ${other.id} where organization_id = ${own.id}`
    await expect(move.execute()).rejects.toThrow(SEES)
  })
})
