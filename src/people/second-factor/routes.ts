import Elysia from 'elysia'
import { NoContent } from '../../base/shapes/answers'
import { accountConnection, signedIn } from '../../http/admission/authenticate'
import { done, headersOf } from '../../http/request/answer'
import { originOf } from '../../http/request/request'
import { confirmOwnFactor, removeOwnFactor, renewOwnCodes, setUpSecondFactor } from './commands'
import { Confirmation, Proof, RecoveryCodes, SecondFactor, SecondFactorSecret, SetUp } from './model'
import { getSecondFactor } from './queries'

/** Errors of what takes password and code. */
const PROOF_CODES = ['SECOND_FACTOR_NOT_FOUND', 'VALIDATION_ERROR', 'INVALID_CODE'] as const

export const secondFactorRoutes = new Elysia({
  tags: ['Second factor'],
  detail: { about: 'Codes of an app that signing in takes besides the password.' },
})
  .use(signedIn)

  .get('/auth/second-factor', ({ user, request }) => getSecondFactor(accountConnection(request), user.id), {
    response: SecondFactor,
    detail: { summary: 'Get own second factor', permission: 'account' },
  })

  .post(
    '/auth/second-factor',
    ({ user, body, request, set }) => setUpSecondFactor(accountConnection(request), user, body, askedBy(request, set)),
    {
      body: SetUp,
      response: SecondFactorSecret,
      detail: { summary: 'Set up second factor', permission: 'account', codes: ['SECOND_FACTOR_EXISTS'] },
    },
  )

  .post(
    '/auth/second-factor/confirm',
    ({ user, body, request, set }) => confirmOwnFactor(accountConnection(request), user, body, askedBy(request, set)),
    {
      body: Confirmation,
      response: RecoveryCodes,
      detail: {
        summary: 'Confirm second factor',
        permission: 'account',
        codes: ['SECOND_FACTOR_EXISTS', 'SECOND_FACTOR_NOT_FOUND'],
      },
    },
  )

  .post(
    '/auth/second-factor/recovery-codes',
    ({ user, body, request, set }) => renewOwnCodes(accountConnection(request), user, body, askedBy(request, set)),
    {
      body: Proof,
      response: RecoveryCodes,
      detail: { summary: 'Replace recovery codes', permission: 'account', codes: PROOF_CODES },
    },
  )

  .delete(
    '/auth/second-factor',
    ({ user, body, request, set }) =>
      done(removeOwnFactor(accountConnection(request), user, body, askedBy(request, set))),
    {
      body: Proof,
      response: { 204: NoContent },
      detail: { summary: 'Remove second factor', permission: 'account', codes: PROOF_CODES },
    },
  )

function askedBy(request: Request, set: { headers: unknown }) {
  return { origin: originOf(request), headers: headersOf(set) }
}
