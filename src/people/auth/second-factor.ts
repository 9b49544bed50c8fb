/**
 * The second factor of an account: codes that an app makes of a shared secret and the time (TOTP, RFC 6238), and
 * recovery codes for a person without the app. Who changes or uses one has locked the account.
 */
import { createHash, randomBytes } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'
import { sharedTime } from '../../base/db/shared-time'
import type { Connection } from '../../base/db/transact'
import { decrypt, encrypt, type StoredAt } from '../../base/secrets'

type InTransaction = Pick<Connection, 'sql'>

const PERIOD_S = 30
const RECOVERY_CODES = 10
/** How long a secret may wait for its first code. */
const SETUP_S = 600

/** Tells whether an account has a second factor. */
export async function hasSecondFactor({ sql }: InTransaction, user_id: string): Promise<boolean> {
  const found = await sql`select from second_factors where id = ${user_id} and confirmed_at is not null`
  return found.length > 0
}

/** Stores a new secret, which counts from its first code on. @returns it in base32, and as the link that apps read */
export async function beginSecondFactor(
  { sql }: InTransaction,
  { id, email }: { id: string; email: string },
): Promise<{ secret: string; otpauth_url: string }> {
  const totp = totpOf(new Secret({ size: 20 }).base32, email)
  const secret = totp.secret.base32
  await sql`
    insert into second_factors (id, secret) values (${id}, ${encrypt(secret, storedAt(id))})
    on conflict (id) do update
    set secret = excluded.secret, made_at = excluded.made_at, last_step = null where second_factors.confirmed_at is null`
  return { secret, otpauth_url: totp.toString() }
}

/** Tells if a secret waits for its first code. */
export async function isBeingSetUp({ sql }: InTransaction, user_id: string): Promise<boolean> {
  const found = await sql`
    select from second_factors
    where id = ${user_id} and confirmed_at is null and made_at > now() - make_interval(secs => ${SETUP_S})`
  return found.length > 0
}

/** Makes a factor that is being set up count, and gives it recovery codes. @returns undefined for a wrong code */
export async function confirmSecondFactor(
  inner: InTransaction,
  user_id: string,
  code: string,
): Promise<string[] | undefined> {
  const { sql } = inner
  if (!(await useCode(inner, user_id, code))) return undefined
  await sql`update second_factors set confirmed_at = now() where id = ${user_id}`
  return renewRecoveryCodes(inner, user_id)
}

/** Gives a factor new recovery codes; those of before end. @returns them, to be shown once */
export async function renewRecoveryCodes({ sql }: InTransaction, user_id: string): Promise<string[]> {
  const codes = Array.from({ length: RECOVERY_CODES }, newRecoveryCode)
  const hashes = codes.map((code) => hashOf(plain(code)))
  await sql`update second_factors set recovery_codes = ${hashes}::text[] where id = ${user_id}`
  return codes
}

/**
 * Uses up a code of the app, or a recovery code. A code of the app counts once, and none that is older counts after it.
 * @returns false when it is wrong or used
 */
export async function useCode({ sql }: InTransaction, user_id: string, code: string): Promise<boolean> {
  const [factor] = await sql<{ secret: string; last_step: number | null }[]>`
    select secret, last_step from second_factors where id = ${user_id}`
  if (!factor) return false
  const given = plain(code)
  if (!/^\d{6}$/.test(given)) return useRecoveryCode({ sql }, user_id, given)
  const timestamp = sharedTime()
  const distance = totpOf(decrypt(factor.secret, storedAt(user_id))).validate({ token: given, timestamp, window: 1 })
  if (distance === null) return false
  const step = Math.floor(timestamp / 1000 / PERIOD_S) + distance
  if (step <= (factor.last_step ?? 0)) return false
  await sql`update second_factors set last_step = ${step} where id = ${user_id}`
  return true
}

/** Takes the factor of an account away, and ends sign-ins that wait for its code. @returns false when it had none */
export async function removeSecondFactor({ sql }: InTransaction, user_id: string): Promise<boolean> {
  await sql`delete from sign_in_challenges where user_id = ${user_id}`
  const removed = await sql<{ was_on: boolean }[]>`
    delete from second_factors where id = ${user_id} returning confirmed_at is not null as was_on`
  return removed.some(({ was_on }) => was_on)
}

async function useRecoveryCode({ sql }: InTransaction, user_id: string, given: string): Promise<boolean> {
  const hash = hashOf(given)
  const { count } = await sql`
    update second_factors set recovery_codes = array_remove(recovery_codes, ${hash})
    where id = ${user_id} and ${hash} = any(recovery_codes)`
  return count > 0
}

function totpOf(secret: string, label = ''): TOTP {
  return new TOTP({ issuer: 'Deskwire', label, secret, algorithm: 'SHA1', digits: 6, period: PERIOD_S })
}

function storedAt(user_id: string): StoredAt {
  return { column: 'second_factors.secret', organization_id: user_id, id: user_id }
}

/** 80 random bits, which nobody guesses from a hash: `abcd-efgh-ijkl-mnop`. */
function newRecoveryCode(): string {
  return new Secret({ buffer: new Uint8Array(randomBytes(10)).buffer }).base32.toLowerCase().match(/.{4}/g)!.join('-')
}

/** A code as people may write it, in the form that is compared. */
function plain(code: string): string {
  return code.replace(/[\s-]/g, '').toLowerCase()
}

function hashOf(recovery_code: string): string {
  return createHash('sha256').update(recovery_code).digest('base64url')
}
