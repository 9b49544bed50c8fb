/** Knows the links of letters again: who has one can open an account. */
import type { Connection } from '../../base/db/transact'

/** @returns those of the tokens that open an invitation or set a password now */
export async function findLiveTokens({ sql }: Connection, tokens: string[]): Promise<Set<string>> {
  if (tokens.length === 0) return new Set()
  const hashed = sql`unnest(${tokens}::text[]) as given (token)`
  const [invited, forgotten] = await Promise.all([
    sql<{ token: string }[]>`
      select token from ${hashed} join invitations i on i.token_hash = sha256(convert_to(token, 'UTF8'))
      where i.expires_at > now()`,
    sql<{ token: string }[]>`
      select token from ${hashed} join password_resets r on r.token_hash = sha256(convert_to(token, 'UTF8'))
      where r.used_at is null and r.expires_at > now()`,
  ])
  return new Set([...invited, ...forgotten].map(({ token }) => token))
}
