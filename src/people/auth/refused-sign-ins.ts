/** Lists refused sign-ins of known accounts in the audit log. */
import { RateLimiterRes } from 'rate-limiter-flexible'
import { onDatabaseClosed } from '../../base/db/closing'
import { type Connection, transact } from '../../base/db/transact'
import { log, safeError } from '../../base/log'
import type { Origin } from '../../base/scope'
import { createLimiter } from '../../http/admission/rate-limit'
import { auditAccount, writeAccountEntries } from './account-audit'

/**
 * Entries of an account in a day; further ones are left out. An entry takes at most 2 KB with its indexes, so that
 * guessing cannot fill the disk: 200 KB a day for each organization of the account.
 */
const MOST_A_DAY = 100
const DAY_S = 86_400

let listed: ReturnType<typeof createLimiter> | undefined
onDatabaseClosed(() => {
  listed = undefined
})

/**
 * Adds the entry without waiting for it. The answer to a wrong password must not take longer than that to an unknown
 * email, or its time would tell which accounts exist.
 */
export function noteRefusedSignIn(connection: Connection, user_id: string, origin: Origin): void {
  listed ??= createLimiter('listed-refused-sign-ins', MOST_A_DAY, DAY_S)
  const resource = { type: 'user', id: user_id } as const
  listed
    .consume(user_id)
    .then(() =>
      transact(connection, ({ sql }) =>
        auditAccount({ sql, origin }, user_id, { action: 'auth.login_failed', resource }),
      ),
    )
    .then(() => writeAccountEntries(connection, user_id))
    .catch((error) => {
      if (error instanceof RateLimiterRes) return
      log.warn({ error: safeError(error) }, 'a refused sign-in is missing in the audit log')
    })
}
