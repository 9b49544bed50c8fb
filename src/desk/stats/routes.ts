import Elysia from 'elysia'
import { one } from '../../base/shapes/answers'
import { inOrganization } from '../../http/admission/authenticate'
import { data } from '../../http/request/answer'
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
