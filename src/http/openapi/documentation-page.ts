/**
 * `/swagger`: the API to read and to try, and `/client.ts`, a client of it. All of it is served from here, so that it
 * works without internet.
 */
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type Elysia from 'elysia'
import { clientFile } from './client-file'
import { type Documented, openApiDocument } from './document'

/** Its addresses are relative: BASE_URL may have a path. */
const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Deskwire API</title>
    <link rel="icon" href="swagger/favicon-32x32.png">
    <link rel="stylesheet" href="swagger/swagger-ui.css">
  </head>
  <body>
    <div id="ui"></div>
    <script src="swagger/swagger-ui-bundle.js"></script>
    <script src="swagger/start.js"></script>
  </body>
</html>
`

/** A file of its own: the page's policy allows no script in it. */
const START = `SwaggerUIBundle({
  url: 'swagger/json',
  dom_id: '#ui',
  deepLinking: true,
  validatorUrl: null,
  persistAuthorization: false,
  requestInterceptor: (request) => {
    // People paste the key alone.
    const { Authorization } = request.headers
    if (/^dk_/.test(Authorization)) request.headers.Authorization = 'ApiKey ' + Authorization
    return request
  },
})
`

const ASSETS = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
}

/** The style sheet draws its icons with data URLs. */
const POLICY = "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const HIDDEN = { detail: { hide: true, permission: 'anyone' } } as const

/** A plugin for the outermost app: the document holds the routes of all its plugins. */
export const documentationRoutes = (documented: Documented) => (app: Elysia) => {
  let document: string | undefined
  let client: Promise<string> | undefined
  const read = () => {
    document ??= JSON.stringify(openApiDocument(app, documented))
    return document
  }
  return app
    .get('/swagger', () => answer(PAGE, 'text/html; charset=utf-8'), HIDDEN)
    .get('/swagger/start.js', () => answer(START, 'text/javascript; charset=utf-8'), HIDDEN)
    .get('/swagger/swagger-ui.css', () => asset('swagger-ui.css'), HIDDEN)
    .get('/swagger/swagger-ui-bundle.js', () => asset('swagger-ui-bundle.js'), HIDDEN)
    .get('/swagger/favicon-32x32.png', () => asset('favicon-32x32.png'), HIDDEN)
    .get('/swagger/json', () => answer(read(), 'application/json'), HIDDEN)
    .get(
      '/client.ts',
      async () => {
        client ??= clientFile(read())
        // A type of its own would make browsers save it: many read it first.
        return answer(await client, 'text/plain; charset=utf-8')
      },
      HIDDEN,
    )
}

/** The files that were asked for, 1.7 MB together: read once. */
const contents = new Map<string, Promise<Buffer<ArrayBuffer>>>()

async function asset(name: keyof typeof ASSETS): Promise<Response> {
  const content = contents.get(name) ?? readFile(fileURLToPath(import.meta.resolve(`swagger-ui-dist/${name}`)))
  contents.set(name, content)
  return answer(await content, ASSETS[name])
}

function answer(content: string | Uint8Array<ArrayBuffer>, type: string): Response {
  return new Response(content, {
    headers: {
      'content-type': type,
      'cache-control': 'no-cache',
      'content-security-policy': POLICY,
      'x-content-type-options': 'nosniff',
    },
  })
}
