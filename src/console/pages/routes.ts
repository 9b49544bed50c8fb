/** Pages of the service that links in its mail open: static files that call the API, in the look of the console. */
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import Elysia from 'elysia'

const TYPES = { html: 'text/html; charset=utf-8', js: 'text/javascript; charset=utf-8' }

/** Only files of this service and the API may be loaded. A link must not reach others: not even as a referrer. */
const HEADERS = {
  'cache-control': 'no-cache',
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

export const pageRoutes = new Elysia({ name: 'pages', detail: { hide: true, permission: 'anyone' } })
  .get('/invitation', () => file('invitation', 'html'))
  .get('/password-reset', () => file('password-reset', 'html'))
  .get('/pages/page.js', () => file('page', 'js'))
  .get('/pages/german.js', () => file('german', 'js'))
  .get('/pages/invitation.js', () => file('invitation', 'js'))
  .get('/pages/password-reset.js', () => file('password-reset', 'js'))

async function file(name: string, type: keyof typeof TYPES): Promise<Response> {
  const path = fileURLToPath(new URL(`files/${name}.${type}`, import.meta.url))
  return new Response(await readFile(path), { headers: { ...HEADERS, 'content-type': TYPES[type] } })
}
