import type { Connection } from '../../base/db/transact'
import type { SecondFactor } from './model'

/** Tells if an account has a second factor, since when, and how many recovery codes it has left. */
export async function getSecondFactor({ sql }: Connection, user_id: string): Promise<SecondFactor> {
  const [factor] = await sql<Omit<SecondFactor, 'enabled'>[]>`
    select confirmed_at, cardinality(recovery_codes) as recovery_codes_left
    from second_factors where id = ${user_id} and confirmed_at is not null`
  return factor ? { enabled: true, ...factor } : { enabled: false, confirmed_at: null, recovery_codes_left: 0 }
}
