/** Keeps the secrets that sign a webhook's deliveries: the newest, and the one before for 24 hours. */
import type { Scope } from '../../base/scope'
import { decrypt, encrypt } from '../../base/secrets'

/** The secrets as they are stored: encrypted. */
export type StoredSecrets = { secret: string | null; previous_secret: string | null }

type Webhook = { organization_id: string; id: string }

/** Encrypts a secret to be stored as the newest one of a webhook. */
export function encryptSecret(secret: string, webhook: Webhook): string {
  return encrypt(secret, { column: 'webhooks.secret', ...webhook })
}

/** Decrypts the secrets of a webhook, the newest first. @throws Error when no SECRET_KEY fits */
export function secretsOf({ secret, previous_secret }: StoredSecrets, webhook: Webhook): string[] {
  return [
    ...(secret === null ? [] : [decrypt(secret, { column: 'webhooks.secret', ...webhook })]),
    ...(previous_secret === null ? [] : [decrypt(previous_secret, { column: 'webhooks.previous_secret', ...webhook })]),
  ]
}

/**
 * Makes `secret` the newest; null removes both. To be called while the webhook is locked. The secret that it replaces
 * signs for 24 hours more, so that the receiver can change over without losing a delivery.
 */
export async function replaceSecret(scope: Scope, webhook_id: string, secret: string | null): Promise<void> {
  const { sql, organization_id } = scope
  const [row] = await sql<{ secret: string | null }[]>`
    select secret from webhooks where organization_id = ${organization_id} and id = ${webhook_id}`
  const webhook = { organization_id, id: webhook_id }
  const current = row?.secret ?? null
  const replaced = current === null || secret === null ? undefined : readable(current, webhook)
  // The same secret once more must not end the time of the one before.
  if (replaced !== undefined && replaced === secret) return
  const previous = replaced === undefined ? null : encrypt(replaced, { column: 'webhooks.previous_secret', ...webhook })
  await sql`
    update webhooks
    set secret = ${secret === null ? null : encryptSecret(secret, webhook)}, previous_secret = ${previous},
      previous_secret_until = ${previous === null ? null : sql`now() + interval '24 hours'`}
    where organization_id = ${organization_id} and id = ${webhook_id}`
}

/** Undefined when no SECRET_KEY fits: such a secret signs nothing, and can only be replaced. */
function readable(encrypted: string, webhook: Webhook): string | undefined {
  try {
    return decrypt(encrypted, { column: 'webhooks.secret', ...webhook })
  } catch {
    return undefined
  }
}
