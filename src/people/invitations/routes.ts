import Elysia from 'elysia'
import { NoContent, one } from '../../base/shapes/answers'
import { accountConnection } from '../../http/admission/authenticate'
import { data, done, headersOf } from '../../http/request/answer'
import { originOf } from '../../http/request/request'
import { Tokens } from '../auth/model'
import { signedInAnswer } from '../auth/sessions'
import { acceptInvitation, declineInvitation } from './answer-invitation'
import { Acceptance, Invitation, InvitationToken } from './model'
import { showInvitation } from './queries'

/** Errors of a token in a path. */
const TOKEN_CODES = ['INVALID_TOKEN', 'TOKEN_EXPIRED'] as const
const ACCEPT_CODES = [...TOKEN_CODES, 'INVALID_CREDENTIALS', 'SECOND_FACTOR_REQUIRED'] as const

export const invitationRoutes = new Elysia({
  tags: ['Invitations'],
  detail: { about: 'Answers of invited people. The token from the link of the email stands in the path.' },
})
  .get(
    '/auth/invitations/:token',
    ({ params, request }) => data(showInvitation(accountConnection(request), params.token)),
    {
      params: InvitationToken,
      response: one(Invitation),
      detail: { summary: 'Get invitation', permission: 'anyone', codes: TOKEN_CODES },
    },
  )

  .post(
    '/auth/invitations/:token/accept',
    async ({ params, body, request, set }) =>
      signedInAnswer(
        await acceptInvitation(accountConnection(request), params.token, body, originOf(request), headersOf(set)),
      ),
    {
      params: InvitationToken,
      body: Acceptance,
      response: Tokens,
      detail: { summary: 'Accept invitation', permission: 'anyone', codes: ACCEPT_CODES },
    },
  )

  .post(
    '/auth/invitations/:token/decline',
    ({ params, request }) => done(declineInvitation(accountConnection(request), params.token, originOf(request))),
    {
      params: InvitationToken,
      response: { 204: NoContent },
      detail: { summary: 'Decline invitation', permission: 'anyone', codes: TOKEN_CODES },
    },
  )
