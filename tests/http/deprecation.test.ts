/** Routes that will go: what their answers and the document say. */
import { expect, test } from 'bun:test'
import Elysia, { type DocumentDecoration } from 'elysia'
import { config } from '../../src/base/config'
import { openApiDocument } from '../../src/http/openapi/document'
import { deprecation } from '../../src/http/pipeline/deprecation'
import { type Declarations, readDeclarations } from '../../src/http/request/declarations'

const LABELS = { summary: 'List labels', permission: 'anyone' } as const
const ENDING = { since: '2027-01-01', sunset: '2028-01-01' }

function appWith(detail: DocumentDecoration) {
  const declarations: Declarations = new Map()
  const app = new Elysia()
    .use(deprecation(declarations))
    .get('/old/:label_id', () => 'ok', { detail })
    .get('/refused', () => Promise.reject(new Error('no')), { detail: { ...detail, summary: 'Refuse' } })
    .get('/new', () => 'ok', { detail: { ...LABELS, summary: 'Get new' } })
  readDeclarations(app, declarations)
  return app
}

const headersOf = async (app: ReturnType<typeof appWith>, path: string, method = 'GET') =>
  (await app.handle(new Request(`http://localhost${path}`, { method }))).headers

test.each(['/old/1', '/old/1?page=2', '/refused'])(
  '%s says since when it is deprecated, and until when it stays',
  async (path) => {
    const headers = await headersOf(appWith({ ...LABELS, deprecation: ENDING }), path)
    expect(headers.get('deprecation')).toBe('@1798761600')
    expect(headers.get('sunset')).toBe('Sat, 01 Jan 2028 00:00:00 GMT')
    expect(headers.get('link')).toBe(`<${config.BASE_URL}/swagger>; rel="deprecation"; type="text/html"`)
  },
)

test('other routes say nothing of it', async () => {
  const app = appWith({ ...LABELS, deprecation: ENDING })
  for (const path of ['/new', '/nowhere']) {
    const headers = await headersOf(app, path)
    expect([path, headers.get('deprecation'), headers.get('sunset')]).toEqual([path, null, null])
  }
})

test('the document marks the operation, and says until when it stays', () => {
  const { paths } = openApiDocument(appWith({ ...LABELS, deprecation: ENDING }), { models: {}, events: {} })
  expect(paths['/old/{label_id}']!.get).toMatchObject({
    deprecated: true,
    description: 'Takes no API key. Deprecated since 2027-01-01; it may be gone from 2028-01-01 on.',
  })
  expect(paths['/old/{label_id}']!.get).not.toHaveProperty('deprecation')
  const headers = (path: string) =>
    Object.values(paths[path]!.get!.responses).flatMap((reply) => Object.keys(reply.headers ?? {}))
  expect(headers('/old/{label_id}')).toEqual(expect.arrayContaining(['Deprecation', 'Sunset', 'Link']))
  expect(headers('/new')).not.toContain('Sunset')
  expect(paths['/new']!.get).not.toHaveProperty('deprecated')
})
