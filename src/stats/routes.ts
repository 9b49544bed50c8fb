import Elysia from 'elysia'
import { data } from '../http/answer'
import { inOrganization } from '../http/authenticate'
import { one } from '../shapes/answers'
import { Stats, StatsQuery } from './model'
import { getStats } from './queries'

export const statsRoutes = new Elysia({
  tags: ['Stats'],
  detail: { about: 'What came in, what went out, and what waits.' },
})
  .use(inOrganization)

  .get('/stats', ({ scope, query }) => data(getStats(scope, query)), {
    query: StatsQuery,
    response: one(Stats),
    detail: { summary: 'Get stats', permission: 'admin' },
  })
