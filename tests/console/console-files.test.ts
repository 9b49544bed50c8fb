/** The files of the console: what their policy allows, how large they are, and the page in their place. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { api, startApi, stopApi } from '../support/api'
import { withSettings } from '../support/settings'

/** Size of the first view, compressed. */
const MOST_BYTES = 120_000

beforeAll(() => startApi())
afterAll(stopApi)

function get(path: string, headers: Record<string, string> = {}): Promise<Response> {
  return api().handle(new Request(`http://localhost${path}`, { headers }))
}

test('the page runs no script but its own file, and is in no frame of others', async () => {
  const page = await get('/')
  expect(page.status).toBe(200)
  const policy = page.headers.get('content-security-policy')!
  expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'")
  expect(policy).toContain("frame-ancestors 'none'")
  expect(policy).not.toContain('unsafe')
  expect(page.headers.get('x-content-type-options')).toBe('nosniff')
  expect(page.headers.get('referrer-policy')).toBe('no-referrer')
})

test.each([
  ['/console/frame', "img-src 'self' data:;"],
  ['/console/frame-with-images', "img-src 'self' data: https:;"],
])('%s runs no script, and its images are limited', async (path, images) => {
  const policy = (await get(path)).headers.get('content-security-policy')!
  expect(policy).toContain("default-src 'none'; style-src 'self'")
  expect(policy).toContain(images)
  expect(policy).toContain('sandbox allow-same-origin')
  expect(policy).not.toMatch(/script-src|unsafe|allow-scripts/)
})

test('the first view is small, and comes once; what is loaded later is served, too', async () => {
  const script = await (await get('/console/console.js')).text()
  const [first, later] = [/(?:from|import)"\.\/([^"]+)"/g, /import\("\.\/([^"]+)"\)/g].map((pattern) =>
    [...script.matchAll(pattern)].map(([, file]) => `/console/${file}`),
  ) as [string[], string[]]
  let bytes = 0
  for (const path of ['/', '/console/console.js', ...first, '/console/console.css', '/console/icon.svg']) {
    const answer = await get(path, { 'accept-encoding': 'gzip' })
    expect([path, answer.status]).toEqual([path, 200])
    bytes += (await answer.arrayBuffer()).byteLength
    const etag = answer.headers.get('etag')
    if (etag) expect((await get(path, { 'if-none-match': etag })).status).toBe(304)
  }
  expect(bytes).toBeLessThan(MOST_BYTES)
  expect(later.length).toBeGreaterThan(2)
  for (const path of later) expect([path, (await get(path)).status]).toEqual([path, 200])
  expect((await get('/console/nothing.js')).status).toBe(404)
})

test('CONSOLE=off leaves a page that points to the documentation', async () => {
  const settings = withSettings({ CONSOLE: 'off' })
  const page = await get('/')
  settings.restore()
  const html = await page.text()
  expect(html).toContain('href="swagger"')
  expect(html).not.toContain('<script')
})
