/** The refusals whose sentence of the API speaks to a program, in English. Others are shown as the API says them. */
import type { ErrorCode } from '../../../base/errors'

export const refusalsEnglish: Partial<Record<ErrorCode, string>> = {
  BAD_REQUEST: 'The service could not read this',
  TOKEN_EXPIRED: 'You are not signed in any more',
  INVALID_TOKEN: 'You are not signed in any more',
  INVALID_SIGNATURE: 'The signature is missing or wrong',
  NOT_FOUND: 'This does not exist',
  CONTACT_TOKEN_NOT_FOUND: 'The contact has no such access',
  REQUEST_TIMEOUT: 'Your connection is too slow for this',
  PRECONDITION_FAILED: 'Somebody has changed this meanwhile',
  PAYLOAD_TOO_LARGE: 'This is too large',
  VALIDATION_ERROR: 'Something in it is not valid',
  EMPTY_BODY: 'The text is missing',
  IDEMPOTENCY_KEY_REUSED: 'This was sent before, in another form',
  RATE_LIMITED: 'Too much at once: wait a little',
}
