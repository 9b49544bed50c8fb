/**
 * The second step of a sign-in: a challenge stands for a password that was right, until the code of the second factor
 * is right too. What ends the sessions of an account ends its challenges.
 */
import { lockAccount } from '../../base/db/account-lock'
import { type Connection, transact } from '../../base/db/transact'
import { ApiError } from '../../base/errors'
import type { Origin } from '../../base/scope'
import { hashToken, newSecretToken } from '../../http/admission/tokens'
import { writeAccountEntries } from './account-audit'
import { tryCode } from './password-guesses'
import { noteRefusedSignIn } from './refused-sign-ins'
import { useCode } from './second-factor'
import { claimsOf, type SignedIn, startSession } from './sessions'

const VALID_S = 300
/** Wrong codes that end a challenge. */
const MOST_WRONG = 5

/** Begins a challenge of an account that the caller has locked. @returns the token of the second step */
export async function beginChallenge({ sql }: Connection, user_id: string): Promise<string> {
  const challenge = newSecretToken()
  await sql`
    insert into sign_in_challenges (token_hash, user_id, expires_at)
    values (${hashToken(challenge)}, ${user_id}, now() + make_interval(secs => ${VALID_S}))`
  return challenge
}

/** The 401 that asks for the second step. */
export function secondFactorRequired(challenge: string): ApiError {
  return new ApiError('SECOND_FACTOR_REQUIRED', { challenge, expires_in: VALID_S })
}

/**
 * Signs in with the code of the second factor.
 * @param origin where it comes from: wrong codes are counted like wrong passwords, and by themselves
 * @param headers of the answer: get `retry-after` with RATE_LIMITED
 * @throws INVALID_CREDENTIALS for a wrong code; TOKEN_EXPIRED; INVALID_TOKEN for a challenge that is unknown, used or
 *   had too many wrong codes; RATE_LIMITED
 */
export async function finishSignIn(
  connection: Connection,
  { challenge, code }: { challenge: string; code: string },
  origin: Origin,
  headers: Record<string, string | number>,
): Promise<SignedIn> {
  const { user_id, email } = await getChallenge(connection, challenge)
  const guess = { email, address: origin.ip }
  const signed_in = await tryCode(guess, headers, 'sign-in', () =>
    transact(connection, async (inner) => {
      await lockAccount(inner, user_id)
      const { name, email } = await getChallenge(inner, challenge)
      if (!(await useCode(inner, user_id, code))) return countWrong(inner, challenge)
      await inner.sql`delete from sign_in_challenges where token_hash = ${hashToken(challenge)}`
      const claims = await claimsOf(inner, { id: user_id, email })
      if (!claims) throw new ApiError('INVALID_CREDENTIALS')
      return startSession(inner, { id: user_id, email, name }, claims, origin)
    }),
  )
  if (!signed_in) {
    noteRefusedSignIn(connection, user_id, origin)
    throw new ApiError('INVALID_CREDENTIALS')
  }
  await writeAccountEntries(connection, user_id)
  return signed_in
}

/** @throws TOKEN_EXPIRED; INVALID_TOKEN when it is unknown or used */
async function getChallenge(
  { sql }: Connection,
  challenge: string,
): Promise<{ user_id: string; email: string; name: string }> {
  const [row] = await sql<{ user_id: string; email: string; name: string; expired: boolean }[]>`
    select u.id as user_id, u.email, u.name, c.expires_at <= now() as expired
    from sign_in_challenges c join users u on u.id = c.user_id
    where c.token_hash = ${hashToken(challenge)} and c.wrong_codes < ${MOST_WRONG}`
  if (!row) throw new ApiError('INVALID_TOKEN')
  if (row.expired) throw new ApiError('TOKEN_EXPIRED')
  return row
}

async function countWrong({ sql }: Connection, challenge: string): Promise<undefined> {
  await sql`
    update sign_in_challenges set wrong_codes = wrong_codes + 1 where token_hash = ${hashToken(challenge)}`
}
