/** The deeds of a person on the own second factor: set it up, confirm it, renew its recovery codes, take it away. */
import { type Connection, transact } from '../../base/db/transact'
import { ApiError, fieldError } from '../../base/errors'
import type { Origin } from '../../base/scope'
import { forgetMemberships, type TokenOfUser } from '../../http/admission/membership'
import { auditAccount, writeAccountEntries } from '../auth/account-audit'
import { lockOwn, verifyOwn } from '../auth/commands'
import { tryCode } from '../auth/password-guesses'
import {
  beginSecondFactor,
  confirmSecondFactor,
  hasSecondFactor,
  isBeingSetUp,
  removeSecondFactor,
  renewRecoveryCodes,
  useCode,
} from '../auth/second-factor'
import { endSessions } from '../auth/sessions'
import type { Proof, RecoveryCodes, SecondFactorSecret } from './model'

type Caller = TokenOfUser & { email: string }
/** Where a request comes from, and the headers of its answer. */
type Asked = { origin: Origin; headers: Record<string, string | number> }

/**
 * Begins to set up a second factor; one that was begun before is given up.
 * @throws VALIDATION_ERROR at /current_password; SECOND_FACTOR_EXISTS; RATE_LIMITED
 */
export async function setUpSecondFactor(
  connection: Connection,
  caller: Caller,
  input: Pick<Proof, 'current_password'>,
  asked: Asked,
): Promise<SecondFactorSecret> {
  const verified_hash = await verifyOwn(connection, caller.id, input, asked)
  return transact(connection, async (inner) => {
    const { email } = await lockOwn(inner, caller, verified_hash)
    if (await hasSecondFactor(inner, caller.id)) throw new ApiError('SECOND_FACTOR_EXISTS')
    return beginSecondFactor(inner, { id: caller.id, email })
  })
}

/**
 * Makes the second factor count, with its first code, and ends all other sessions.
 * @throws INVALID_CODE; SECOND_FACTOR_EXISTS; SECOND_FACTOR_NOT_FOUND when none is being set up; RATE_LIMITED
 */
export async function confirmOwnFactor(
  connection: Connection,
  caller: Caller,
  { code }: Pick<Proof, 'code'>,
  { origin, headers }: Asked,
): Promise<RecoveryCodes> {
  const recovery_codes = await tryOwnCode(caller, { origin, headers }, () =>
    transact(connection, async (inner) => {
      await lockOwn(inner, caller, null)
      if (await hasSecondFactor(inner, caller.id)) throw new ApiError('SECOND_FACTOR_EXISTS')
      if (!(await isBeingSetUp(inner, caller.id))) throw new ApiError('SECOND_FACTOR_NOT_FOUND')
      const codes = await confirmSecondFactor(inner, caller.id, code)
      if (!codes) return undefined
      await endSessions(inner, caller.id, caller.session_id)
      await note(inner, caller, origin, 'auth.second_factor_enabled')
      return codes
    }),
  )
  forgetMemberships(caller.id)
  await writeAccountEntries(connection, caller.id)
  return { recovery_codes }
}

/** Replaces the recovery codes. @throws as `removeOwnFactor` */
export async function renewOwnCodes(
  connection: Connection,
  caller: Caller,
  proof: Proof,
  asked: Asked,
): Promise<RecoveryCodes> {
  const recovery_codes = await withProof(connection, caller, proof, asked, (inner) =>
    renewRecoveryCodes(inner, caller.id),
  )
  return { recovery_codes }
}

/**
 * Takes the second factor away.
 * @throws VALIDATION_ERROR at /current_password; SECOND_FACTOR_NOT_FOUND; INVALID_CODE; RATE_LIMITED
 */
export async function removeOwnFactor(
  connection: Connection,
  caller: Caller,
  proof: Proof,
  asked: Asked,
): Promise<void> {
  await withProof(connection, caller, proof, asked, async (inner) => {
    await removeSecondFactor(inner, caller.id)
    await note(inner, caller, asked.origin, 'auth.second_factor_disabled')
    return true
  })
  forgetMemberships(caller.id)
  await writeAccountEntries(connection, caller.id)
}

/** Does what takes password and code, in the transaction that uses the code up. */
async function withProof<T>(
  connection: Connection,
  caller: Caller,
  proof: Proof,
  asked: Asked,
  work: (inner: Connection) => Promise<T>,
): Promise<T> {
  const verified_hash = await verifyOwn(connection, caller.id, proof, asked)
  return tryOwnCode(caller, asked, () =>
    transact(connection, async (inner) => {
      await lockOwn(inner, caller, verified_hash)
      if (!(await hasSecondFactor(inner, caller.id))) throw new ApiError('SECOND_FACTOR_NOT_FOUND')
      return (await useCode(inner, caller.id, proof.code)) ? work(inner) : undefined
    }),
  )
}

/** @throws INVALID_CODE when the attempt answers undefined; RATE_LIMITED */
async function tryOwnCode<T>(
  { email }: Caller,
  { origin, headers }: Asked,
  attempt: () => Promise<T | undefined>,
): Promise<T> {
  const result = await tryCode({ email, address: origin.ip }, headers, 'change', attempt)
  if (result === undefined) throw fieldError('INVALID_CODE', '/code')
  return result
}

function note(
  inner: Connection,
  caller: Caller,
  origin: Origin,
  action: 'auth.second_factor_enabled' | 'auth.second_factor_disabled',
): Promise<void> {
  return auditAccount({ ...inner, origin }, caller.id, { action, resource: { type: 'user', id: caller.id } })
}
