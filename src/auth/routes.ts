import { randomUUID } from 'node:crypto'
import { jwt } from '@elysiajs/jwt'
import Elysia from 'elysia'
import { config } from '../config'
import { connection } from '../db/client'
import { signedIn } from '../http/authenticate'
import { stateOf } from '../http/request'
import { NoContent } from '../shapes/answers'
import { type Claims, refresh, signIn, signOut, updateMe } from './commands'
import { AccessToken, Credentials, Me, MeChanges, RefreshToken, Tokens } from './model'
import { getMe } from './queries'
import { signingKey } from './tokens'

const expires_in = config.ACCESS_TOKEN_SECONDS

/** A function because the signing key is known only once the service starts. */
export function authRoutes() {
  return new Elysia({ tags: ['Authentication'] })
    .use(jwt({ name: 'jwt', secret: signingKey(), alg: 'HS256', exp: `${expires_in}s` }))

    .post(
      '/auth/login',
      async ({ jwt, body, request, set }) => {
        const headers = set.headers as Record<string, string | number>
        const { account, claims, refresh_token } = await signIn(connection(), body, stateOf(request).address, headers)
        const { id, email, name } = account
        const access_token = await jwt.sign(unique(claims))
        return { access_token, refresh_token, token_type: 'bearer' as const, expires_in, user: { id, email, name } }
      },
      { body: Credentials, response: Tokens },
    )

    .post(
      '/auth/refresh',
      async ({ jwt, body }) => {
        const claims = await refresh(connection(), body.refresh_token)
        return { access_token: await jwt.sign(unique(claims)), token_type: 'bearer' as const, expires_in }
      },
      { body: RefreshToken, response: AccessToken },
    )

    .use(signedIn)

    .get('/auth/me', ({ user }) => getMe(connection(), user.id), { response: Me })

    .patch('/auth/me', ({ user, body }) => updateMe(connection(), user.id, body), { body: MeChanges, response: Me })

    .post(
      '/auth/logout',
      async ({ user, body, status }) => {
        await signOut(connection(), user.id, body.refresh_token)
        return status(204, undefined)
      },
      { body: RefreshToken, response: { 204: NoContent } },
    )
}

function unique(claims: Claims) {
  return { ...claims, jti: randomUUID() }
}
