import Elysia from 'elysia'
import { escapeHtml } from '../../base/html/text'
import { NoContent, one } from '../../base/shapes/answers'
import { path } from '../../base/shapes/fields'
import { accountConnection, inOrganization } from '../../http/admission/authenticate'
import { data, done } from '../../http/request/answer'
import { originOf } from '../../http/request/request'
import { readForm } from '../../http/request/request-body'
import { requireTag } from '../../http/request/tags'
import { Tokens } from '../auth/model'
import { signedInAnswer } from '../auth/sessions'
import { endByProvider } from './back-channel'
import { deleteIdentityProvider, putIdentityProvider, unlinkIdentity } from './commands'
import { CallbackQuery, IdentityProvider, IdentityProviderInput, ProviderCode, StartQuery } from './model'
import { redeemCode, startSignIn, takeAnswer } from './provider-sign-in'
import { getIdentityProvider } from './queries'

const SECTION = {
  tags: ['Identity provider'],
  detail: { about: 'Signing in at the identity provider of an organization (OpenID Connect).' },
}

export const identityProviderRoutes = new Elysia(SECTION)
  .use(inOrganization)

  .get('/identity-provider', ({ scope }) => data(getIdentityProvider(scope)), {
    response: one(IdentityProvider),
    detail: { summary: 'Get identity provider', permission: 'admin', codes: ['IDENTITY_PROVIDER_NOT_FOUND'] },
  })

  .put('/identity-provider', ({ request, scope, body }) => data(putIdentityProvider(scope, body, judgeOf(request))), {
    body: IdentityProviderInput,
    response: one(IdentityProvider),
    detail: {
      summary: 'Set identity provider',
      permission: 'admin',
      codes: ['PROVIDER_UNREACHABLE'],
      if_match: 'by its command',
    },
  })

  .delete('/identity-provider', ({ request, scope }) => done(deleteIdentityProvider(scope, judgeOf(request))), {
    response: { 204: NoContent },
    detail: {
      summary: 'Remove identity provider',
      permission: 'admin',
      codes: ['IDENTITY_PROVIDER_NOT_FOUND'],
      if_match: 'by its command',
    },
  })

  .delete('/users/:user_id/identity', ({ scope, params }) => done(unlinkIdentity(scope, params.user_id)), {
    params: path('user_id'),
    response: { 204: NoContent },
    detail: { summary: 'Unlink identity', permission: 'admin' },
  })

/** Where the browser is sent. */
const REDIRECT = { 302: { description: 'The browser goes on' } }

const PAGE = {
  description: 'A page that names the host of the provider, and leads there by a link',
  content: { 'text/html': {} },
} as const

export const providerSignInRoutes = new Elysia(SECTION)
  .get(
    '/auth/oidc/:organization_id/start',
    async ({ params, query, request }) => {
      const { location, is_known } = await startSignIn(accountConnection(request), params.organization_id, query)
      return is_known ? redirect(location) : showWay(location)
    },
    {
      params: path('organization_id'),
      query: StartQuery,
      detail: {
        summary: 'Begin to sign in at the provider',
        permission: 'anyone',
        description:
          'Goes on at once when the host of the provider is, or is below, a verified domain of the organization',
        codes: ['IDENTITY_PROVIDER_NOT_FOUND', 'VALIDATION_ERROR'],
        responses: { 200: PAGE, ...REDIRECT },
      },
    },
  )

  .get(
    '/auth/oidc/callback',
    async ({ query, request }) => redirect(await takeAnswer(accountConnection(request), query, originOf(request))),
    {
      query: CallbackQuery,
      detail: {
        summary: 'Return from the provider',
        permission: 'anyone',
        codes: ['VALIDATION_ERROR'],
        responses: REDIRECT,
      },
    },
  )

  .post(
    '/auth/oidc/token',
    async ({ body, request }) => signedInAnswer(await redeemCode(accountConnection(request), body, originOf(request))),
    {
      body: ProviderCode,
      response: Tokens,
      detail: { summary: 'Sign in with the code of the provider', permission: 'anyone', codes: ['INVALID_TOKEN'] },
    },
  )

  .post(
    '/auth/oidc/:organization_id/logout',
    async ({ params, request }) => {
      const form = await readForm(request)
      await endByProvider(accountConnection(request), params.organization_id, form.get('logout_token'))
      return new Response(null, { headers: { 'cache-control': 'no-store' } })
    },
    {
      params: path('organization_id'),
      parse: 'none',
      detail: {
        summary: 'End sessions at the word of the provider',
        permission: 'anyone',
        codes: ['IDENTITY_PROVIDER_NOT_FOUND', 'PAYLOAD_TOO_LARGE'],
        requestBody: {
          required: true,
          content: {
            'application/x-www-form-urlencoded': {
              schema: { type: 'object', required: ['logout_token'], properties: { logout_token: { type: 'string' } } },
            },
          },
        },
        responses: { 200: { description: 'The sessions have ended' } },
      },
    },
  )

/** Judges by If-Match whether the client has read the provider that is stored. */
function judgeOf(request: Request) {
  const header = request.headers.get('if-match')
  return (stored: IdentityProvider | undefined) => requireTag(header, stored && { data: stored })
}

/** No cache and no other page learns the code in the address. */
const PRIVATE = { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' }

function redirect(location: string): Response {
  return new Response(null, { status: 302, headers: { ...PRIVATE, location } })
}

/** Shows where a link of this host leads: only the organization says that it does, and anybody may make one. */
function showWay(location: string): Response {
  const host = escapeHtml(new URL(location).host)
  const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Sign in at ${host}</title>
  </head>
  <body>
    <h1>Sign in at ${host}</h1>
    <p>Your organization signs you in at <b>${host}</b>, which is another website. Go on only if you know it.</p>
    <p><a rel="noreferrer" href="${escapeHtml(location)}">Go on to ${host}</a></p>
  </body>
</html>
`
  const policy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
  const headers = { ...PRIVATE, 'content-type': 'text/html; charset=utf-8', 'content-security-policy': policy }
  return new Response(page, { headers })
}
