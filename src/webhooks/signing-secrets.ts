/** The secrets that sign a webhook's deliveries: the newest, and for a day the one before, while receivers change over. */
import type { Scope } from '../scope'
import { decrypt, encrypt } from '../secrets'

/** What the database has: encrypted. */
export type StoredSecrets = { secret: string | null; previous_secret: string | null }

/** In the clear, the newest first. @throws Error when no key fits */
export function secretsOf({ secret, previous_secret }: StoredSecrets): string[] {
  return [secret, previous_secret].filter((stored) => stored !== null).map(decrypt)
}

/**
 * Makes `secret` the newest; null removes both. To be called while the webhook is locked.
 * The one that it replaces signs for 24 hours more, beside it (decisions.md section 8).
 */
export async function replaceSecret(scope: Scope, webhook_id: string, secret: string | null): Promise<void> {
  const { sql, organization_id } = scope
  const [row] = await sql<{ secret: string | null }[]>`
    select secret from webhooks where organization_id = ${organization_id} and id = ${webhook_id}`
  const current = row?.secret ?? null
  const replaced = current === null || secret === null ? undefined : readable(current)
  // Said once more, it must not push out the one before.
  if (replaced !== undefined && replaced === secret) return
  const previous = replaced === undefined ? null : current
  await sql`
    update webhooks
    set secret = ${secret === null ? null : encrypt(secret)}, previous_secret = ${previous},
      previous_secret_until = case when ${previous !== null} then now() + interval '24 hours' end
    where organization_id = ${organization_id} and id = ${webhook_id}`
}

/** Undefined when no key fits any more: nothing is signed with it, and replacing it is the way out. */
function readable(encrypted: string): string | undefined {
  try {
    return decrypt(encrypted)
  } catch {
    return undefined
  }
}
