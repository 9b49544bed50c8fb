import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createOrganization, startApi, stopApi } from '../../support/api'
import { walkBesideWriters } from '../../support/walk'

beforeAll(() => startApi())
afterAll(stopApi)

test.each([7, 100])(
  'a walk by %p shows each row that stays exactly once, while others come, change and go',
  async (per_page) => {
    const walks = await walkBesideWriters(await createOrganization(), { tickets: 600, per_page })
    expect(walks.map(({ list, faults }) => [list, faults])).toEqual(walks.map(({ list }) => [list, []]))
  },
)
