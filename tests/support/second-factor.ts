/** Second factors of test accounts, and the codes that an app would show. */
import { TOTP } from 'otpauth'
import { type Answer, type Client, PASSWORD, stranger } from './api'

/** The code of a secret. @param steps away from now, 30 seconds each: each code counts once, so tests use several */
export function codeOf(secret: string, steps = 0): string {
  return new TOTP({ secret }).generate({ timestamp: Date.now() + steps * 30_000 })
}

/** A code that is not right now. */
export function wrongCodeOf(secret: string): string {
  const right = [-2, -1, 0, 1, 2].map((steps) => codeOf(secret, steps))
  return ['000000', '111111', '222222', '333333', '444444', '555555'].find((code) => !right.includes(code))!
}

/** Gives an account a second factor. It uses the code of the step before this one up. */
export async function enableSecondFactor(client: Client): Promise<{ secret: string; recovery_codes: string[] }> {
  const { secret } = (await client.post('/auth/second-factor', { current_password: PASSWORD })).body
  const confirm = () => client.post('/auth/second-factor/confirm', { code: codeOf(secret, -1) })
  // A new step may begin while the first code is on its way.
  const first = await confirm()
  const answer = first.status === 200 ? first : await confirm()
  if (answer.status !== 200) throw new Error(`confirming a second factor answered ${answer.status} ${answer.text}`)
  return { secret, recovery_codes: answer.body.recovery_codes }
}

/** The first step of a sign-in. @returns what the second one needs */
export async function challengeOf({ email }: Client, headers?: Record<string, string>): Promise<string> {
  const answer = await stranger().post('/auth/login', { email, password: PASSWORD }, headers)
  if (answer.status !== 401) throw new Error(`sign-in answered ${answer.status} ${answer.text}`)
  return answer.body.error.details.challenge
}

/** The second step of a sign-in. */
export function secondStep(challenge: string, code: string, headers?: Record<string, string>): Promise<Answer> {
  return stranger().post('/auth/login/second-factor', { challenge, code }, headers)
}
