/** The table of permissions in the guide, compared with what the routes declare. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { GRANTS } from '../../../src/http/request/permissions'
import { api, startApi, stopApi } from '../../support/api'

type Detail = { permission: string; or_permission?: string | string[]; and_permission?: string | string[] }
type Route = { method: string; path: string; hooks: { detail: Detail } }

beforeAll(() => startApi())
afterAll(stopApi)

test('the guide lists every permission with the requests that need it, as the routes declare them', () => {
  const routes = (api() as unknown as { routes: Route[] }).routes.filter(({ path }) => path.startsWith('/api/v1/'))
  const needing = Map.groupBy(routes, ({ hooks }) => hooks.detail.permission)
  const rows = GRANTS.filter((grant) => !grant.startsWith('*')).map((permission) => {
    const requests = (needing.get(permission) ?? []).map((route) => {
      const { and_permission } = route.hooks.detail
      const others = [and_permission ?? []].flat().map((one) => `\`${one}\``)
      return nameOf(route) + (others.length > 0 ? ` (with ${others.join(' and ')})` : '')
    })
    const others = routes.filter(({ hooks }) => [hooks.detail.or_permission].flat().includes(permission)).map(nameOf)
    return `| \`${permission}\` | ${requests.join(', ')}${others.length > 0 ? `; also ${others.join(', ')}` : ''} |`
  })
  const guide = readFileSync(path.join(import.meta.dir, '../../../src/guide/api.md'), 'utf8')
  const table = guide.split('\n').filter((line) => /^\| `[a-z_]+:(read|write)` \|/.test(line))
  // The rows that the guide needs, when it lacks them: copy them from here.
  expect(table).toEqual(rows)
})

function nameOf({ method, path }: Route): string {
  return `\`${method} ${path.replace('/api/v1', '')}\``
}
