import Elysia from 'elysia'
import { list, NoContent } from '../../base/shapes/answers'
import { path } from '../../base/shapes/fields'
import { accountConnection, signedIn } from '../../http/admission/authenticate'
import { accessTokenFor } from '../../http/admission/tokens'
import { data, done, headersOf } from '../../http/request/answer'
import { originOf } from '../../http/request/request'
import { endOtherSessions, endOwnSession, refresh, signIn, signOut, updateMe } from './commands'
import {
  AccessToken,
  Credentials,
  ForgottenPassword,
  Me,
  MeChanges,
  PasswordReset,
  RefreshToken,
  SecondStep,
  Session,
  Tokens,
} from './model'
import { requestReset, resetPassword } from './password-reset'
import { getMe } from './queries'
import { finishSignIn } from './second-step'
import { listSessions, signedInAnswer } from './sessions'

/** The caller, with the organization that is meant: a header names it in whatever form. */
function ownAccount<User extends { organization_id: string }>(
  user: User,
  request: Request,
): User & { meant_id: string } {
  const named = request.headers.get('x-organization-id')?.trim().toLowerCase()
  return { ...user, meant_id: named || user.organization_id }
}

export const authRoutes = new Elysia({
  tags: ['Authentication'],
  detail: { about: 'Sign in, stay signed in, sign out; the own account.' },
})
  .post(
    '/auth/login',
    async ({ body, request, set }) =>
      signedInAnswer(await signIn(accountConnection(request), body, originOf(request), headersOf(set))),
    {
      body: Credentials,
      response: Tokens,
      detail: {
        summary: 'Sign in',
        permission: 'anyone',
        codes: ['INVALID_CREDENTIALS', 'SECOND_FACTOR_REQUIRED', 'PROVIDER_REQUIRED'],
      },
    },
  )

  .post(
    '/auth/login/second-factor',
    async ({ body, request, set }) =>
      signedInAnswer(await finishSignIn(accountConnection(request), body, originOf(request), headersOf(set))),
    {
      body: SecondStep,
      response: Tokens,
      detail: {
        summary: 'Sign in with the code of the second factor',
        permission: 'anyone',
        codes: ['INVALID_CREDENTIALS', 'TOKEN_EXPIRED'],
      },
    },
  )

  .post(
    '/auth/refresh',
    async ({ body, request }) => {
      const { claims, ...session } = await refresh(accountConnection(request), body.refresh_token, originOf(request))
      return accessTokenFor(claims, session)
    },
    {
      body: RefreshToken,
      response: AccessToken,
      detail: { summary: 'Refresh access token', permission: 'anyone', codes: ['INVALID_TOKEN', 'TOKEN_EXPIRED'] },
    },
  )

  .post(
    '/auth/password/forgot',
    ({ body, request, set }) =>
      done(requestReset(accountConnection(request), body.email, originOf(request), headersOf(set))),
    {
      body: ForgottenPassword,
      response: { 204: NoContent },
      detail: { summary: 'Ask for a new password', permission: 'anyone' },
    },
  )

  .post(
    '/auth/password/reset',
    ({ body, request }) => done(resetPassword(accountConnection(request), body, originOf(request))),
    {
      body: PasswordReset,
      response: { 204: NoContent },
      detail: { summary: 'Set a new password', permission: 'anyone', codes: ['INVALID_TOKEN', 'TOKEN_EXPIRED'] },
    },
  )

  .use(signedIn)

  .get('/auth/me', ({ user, request }) => getMe(accountConnection(request), ownAccount(user, request)), {
    response: Me,
    detail: { summary: 'Get own account', permission: 'account', is_for_providers: true },
  })

  .patch(
    '/auth/me',
    ({ user, body, request, set }) => {
      const by = { origin: originOf(request), headers: headersOf(set) }
      return updateMe(accountConnection(request), ownAccount(user, request), body, by)
    },
    {
      body: MeChanges,
      response: Me,
      detail: {
        summary: 'Update own account',
        description: 'A session of an identity provider changes only what belongs to the membership',
        permission: 'account',
        is_for_providers: true,
      },
    },
  )

  .post(
    '/auth/logout',
    ({ user, body, request }) => done(signOut(accountConnection(request), user, body.refresh_token, originOf(request))),
    {
      body: RefreshToken,
      response: { 204: NoContent },
      detail: { summary: 'Sign out', permission: 'account', is_for_providers: true },
    },
  )

  .get(
    '/auth/sessions',
    ({ user, request }) => data(listSessions(accountConnection(request), user.id, user.session_id)),
    {
      response: list(Session),
      detail: { summary: 'List own sessions', permission: 'account', is_for_providers: true },
    },
  )

  .delete(
    '/auth/sessions/:session_id',
    ({ user, params, request }) =>
      done(endOwnSession(accountConnection(request), user, params.session_id, originOf(request))),
    {
      params: path('session_id'),
      response: { 204: NoContent },
      detail: {
        summary: 'End own session',
        permission: 'account',
        is_for_providers: true,
        codes: ['SESSION_NOT_FOUND'],
      },
    },
  )

  .delete(
    '/auth/sessions',
    ({ user, request }) => done(endOtherSessions(accountConnection(request), user, originOf(request))),
    {
      response: { 204: NoContent },
      detail: { summary: 'End all other own sessions', permission: 'account', is_for_providers: true },
    },
  )
