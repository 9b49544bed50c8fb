import Elysia from 'elysia'
import { config } from '../config'
import { connection } from '../db/pool'
import { signedIn } from '../http/authenticate'
import { stateOf } from '../http/request'
import { NoContent } from '../shapes/answers'
import { refresh, signIn, signOut, updateMe } from './commands'
import { AccessToken, Credentials, Me, MeChanges, RefreshToken, Tokens } from './model'
import { getMe } from './queries'
import { type Claims, signAccessToken } from './tokens'

export const authRoutes = new Elysia({
  tags: ['Authentication'],
  detail: { about: 'Sign in, stay signed in, sign out; the own account.' },
})
  .post(
    '/auth/login',
    async ({ body, request, set }) => {
      const headers = set.headers as Record<string, string | number>
      const { account, claims, refresh_token } = await signIn(connection(), body, stateOf(request).address, headers)
      const { id, email, name } = account
      const { access_token, ...rest } = await accessTokenFor(claims)
      return { access_token, refresh_token, ...rest, user: { id, email, name } }
    },
    {
      body: Credentials,
      response: Tokens,
      detail: { summary: 'Sign in', permission: 'anyone', codes: ['INVALID_CREDENTIALS'] },
    },
  )

  .post('/auth/refresh', async ({ body }) => accessTokenFor(await refresh(connection(), body.refresh_token)), {
    body: RefreshToken,
    response: AccessToken,
    detail: { summary: 'Refresh access token', permission: 'anyone', codes: ['INVALID_TOKEN', 'TOKEN_EXPIRED'] },
  })

  .use(signedIn)

  .get('/auth/me', ({ user }) => getMe(connection(), user.id), {
    response: Me,
    detail: { summary: 'Get own account', permission: 'account' },
  })

  .patch('/auth/me', ({ user, body }) => updateMe(connection(), user.id, body), {
    body: MeChanges,
    response: Me,
    detail: { summary: 'Update own account', permission: 'account' },
  })

  .post(
    '/auth/logout',
    async ({ user, body, status }) => {
      await signOut(connection(), user.id, body.refresh_token)
      return status(204, undefined)
    },
    { body: RefreshToken, response: { 204: NoContent }, detail: { summary: 'Sign out', permission: 'account' } },
  )

async function accessTokenFor(claims: Claims): Promise<AccessToken> {
  return {
    access_token: await signAccessToken(claims),
    token_type: 'bearer',
    expires_in: config.ACCESS_TOKEN_SECONDS,
  }
}
