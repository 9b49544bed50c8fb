import { Type } from '@sinclair/typebox'
import { Instant, orNull, unchecked } from '../../base/shapes/answers'
import { body } from '../../base/shapes/fields'
import { CodeInput } from '../auth/model'

const current_password = Type.String({ fault: 'must be text', description: 'The password of the account' })

const code = { ...CodeInput, code: 'INVALID_CODE' as const }

export const SecondFactor = unchecked(
  Type.Object({
    enabled: Type.Boolean({ description: 'Whether signing in asks for a code' }),
    confirmed_at: orNull(Instant, { description: 'Since when it counts' }),
    recovery_codes_left: Type.Integer({ description: 'Of ten; each can be used once' }),
  }),
)
export type SecondFactor = typeof SecondFactor.static

export const SetUp = body({ current_password })

export const SecondFactorSecret = unchecked(
  Type.Object({
    secret: Type.String({ description: 'Base32, for the app; shown once' }),
    otpauth_url: Type.String({ description: 'The same as a link, which apps read from a QR code' }),
  }),
)
export type SecondFactorSecret = typeof SecondFactorSecret.static

export const Confirmation = body({ code })

export const Proof = body({ current_password, code })
export type Proof = typeof Proof.static

export const RecoveryCodes = unchecked(
  Type.Object({
    recovery_codes: Type.Array(Type.String(), { description: 'Each stands in for one code of the app; shown once' }),
  }),
)
export type RecoveryCodes = typeof RecoveryCodes.static
