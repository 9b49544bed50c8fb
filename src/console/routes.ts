/**
 * The console at `/`: a page that calls the API and nothing else. It has no route of its own but those of its files.
 * `CONSOLE=off` leaves a page that points to the documentation.
 */
import Elysia, { NotFoundError } from 'elysia'
import fresh from 'fresh'
import { config } from '../base/config'
import { bundle } from './bundle'

const HTML = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>Deskwire</title>
    <link rel="icon" href="console/icon.svg" type="image/svg+xml">
    <link rel="stylesheet" href="console/console.css">
    <script type="module" src="console/console.js"></script>
  </head>
  <body>
    <div id="page"></div>
    <noscript>The console needs JavaScript. The <a href="swagger">API</a> does all that it does.</noscript>
  </body>
</html>
`

const OFF = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Deskwire</title>
  </head>
  <body>
    <h1>Deskwire</h1>
    <p>This is an API. <a href="swagger">Its documentation</a> lists every request.</p>
  </body>
</html>
`

/** Where the HTML of a message is put. */
const FRAME = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="color-scheme" content="light">
    <title>Message</title>
    <link rel="stylesheet" href="frame.css">
  </head>
  <body></body>
</html>
`

/** The icon; with a count in its corner when something is new. */
function icon(count: number): string {
  const words = count > 9 ? '9+' : String(count)
  const badge = `<circle cx="23" cy="9" r="9" fill="#d92d20"/><text x="23" y="13.5" text-anchor="middle" font-family="sans-serif" font-size="13" font-weight="700" fill="#fff">${words}</text>`
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0a667a"/><path d="M6 9h20v14H6z" fill="none" stroke="#fff" stroke-width="2.5"/><path d="m6 10 10 8 10-8" fill="none" stroke="#fff" stroke-width="2.5"/>${count > 0 ? badge : ''}</svg>`
}

/** The page loads its files, calls the API, and shows frames of its own. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "frame-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** No script runs in the frame of a message; images of others only after somebody has asked for them. */
function framePolicy(images: string): string {
  return `default-src 'none'; style-src 'self'; img-src ${images}; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox allow-same-origin allow-popups allow-popups-to-escape-sandbox`
}

const HEADERS = {
  'cache-control': 'no-cache',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cross-origin-opener-policy': 'same-origin',
}

/** Cached, since each message in a frame loads it, and browsers ask for the icon at each change of the address. */
const FOR_A_WHILE = { 'cache-control': 'private, max-age=600' }

/** Routes of the console, or of the page in its place. */
export const consoleRoutes = new Elysia({ name: 'console', detail: { hide: true, permission: 'anyone' } })
  .get('/', () => (config.CONSOLE === 'on' ? page(HTML, PAGE_POLICY) : page(OFF, "default-src 'none'")))
  .get('/console/frame', () => page(FRAME, framePolicy("'self' data:"), FOR_A_WHILE))
  .get('/console/frame-with-images', () => page(FRAME, framePolicy("'self' data: https:"), FOR_A_WHILE))
  .get('/console/icon.svg', ({ request }) => {
    const count = Number(new URL(request.url).searchParams.get('count')) || 0
    return new Response(icon(count), { headers: { ...HEADERS, ...FOR_A_WHILE, 'content-type': 'image/svg+xml' } })
  })
  .get('/console/:file', ({ request, params }) => asset(request, params.file))

function page(html: string, policy: string, headers = {}): Response {
  return new Response(html, {
    headers: { ...HEADERS, ...headers, 'content-type': 'text/html; charset=utf-8', 'content-security-policy': policy },
  })
}

/** A file of the bundle. @throws NotFoundError when there is none of that name */
async function asset(request: Request, name: string): Promise<Response> {
  const found = (await bundle()).get(name)
  if (!found) throw new NotFoundError()
  const { plain, packed, tag, type } = found
  const kept = name === 'frame.css' ? FOR_A_WHILE : {}
  const headers = { ...HEADERS, ...kept, 'content-type': type, etag: tag, vary: 'accept-encoding' }
  const known = { 'if-none-match': request.headers.get('if-none-match') ?? undefined }
  if (fresh(known, { etag: tag })) return new Response(null, { status: 304, headers })
  if (!/\bgzip\b/.test(request.headers.get('accept-encoding') ?? '')) return new Response(plain, { headers })
  return new Response(packed, { headers: { ...headers, 'content-encoding': 'gzip' } })
}
