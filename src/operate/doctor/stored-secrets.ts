/** Says which stored secrets SECRET_KEY does not decrypt, or another key encrypted. */
import { config } from '../../base/config'
import type { Connection } from '../../base/db/transact'
import { encryptionKeyIds } from '../../base/secrets'
import { readSecretGroups, type SecretGroup, sumOf } from '../start/secret-groups'
import { counted, type Finding, failure, warning } from './finding'
import { hasSecretKey } from './open'

const NAMES: Record<SecretGroup['column'], string> = {
  'letters.sealed_text': 'letter that waits',
  'mailboxes.smtp_password': 'password of a mailbox',
  'mailboxes.dkim_private_key': 'DKIM key',
  'mailbox_sign_ins.client_secret': 'client secret of a mailbox',
  'mailbox_sign_ins.refresh_token': 'refresh token of a mailbox',
  'mailbox_sign_ins.access_token': 'access token of a mailbox',
  'webhooks.secret': 'secret of a webhook',
  'webhooks.previous_secret': 'former secret of a webhook',
  'second_factors.secret': 'second factor',
  'identity_providers.client_secret': 'secret of an identity provider',
  'inlets.signing_key': 'signing key of an inlet',
}

/** Tries one secret of each column and key, and counts the others with it. */
export async function checkStoredSecrets(connection: Connection): Promise<Finding[]> {
  const groups = await readSecretGroups(connection)
  if (!hasSecretKey()) return groups.length > 0 ? [missingKey()] : []
  const lost = groups.filter((group) => !group.is_readable)
  const [present] = encryptionKeyIds()
  const outdated = groups.filter((group) => group.key_id !== present && !lost.includes(group))
  return [...lostSecrets(lost, groups), ...outdatedSecrets(outdated)]
}

function missingKey(): Finding {
  return failure(
    `DATA_DIR has no file secret-key, but the database holds secrets: the service would make a new key, which opens none of them`,
    `Copy secret-key from the backup to ${config.DATA_DIR} before the service starts, or set SECRET_KEY to its text.`,
  )
}

function lostSecrets(lost: SecretGroup[], all: SecretGroup[]): Finding[] {
  if (lost.length === 0) return []
  const [n, total] = [sumOf(lost), sumOf(all)]
  const kinds = Map.groupBy(lost, ({ column }) => column)
  const list = [...kinds].map(([column, groups]) => `${sumOf(groups)} × ${NAMES[column]}`).join(', ')
  const has_previous = config.SECRET_KEY_PREVIOUS !== undefined
  return [
    failure(
      `${n} of ${counted(total, 'stored secret')} cannot be decrypted with ${has_previous ? 'SECRET_KEY or SECRET_KEY_PREVIOUS' : 'SECRET_KEY'} (${list}): ` +
        'what needs them waits, and replies to older emails may not find their ticket',
      'Set SECRET_KEY to the key that belongs to this database, as it was backed up with it. If both keys were used, set the other one as SECRET_KEY_PREVIOUS and run bun run cli secrets rotate. If the key is lost, set passwords and secrets of mailboxes and webhooks again.',
      { keys: keysOf(all) },
    ),
  ]
}

function outdatedSecrets(outdated: SecretGroup[]): Finding[] {
  if (outdated.length === 0) return []
  return [
    warning(
      `The present SECRET_KEY has not encrypted ${counted(sumOf(outdated), 'stored secret')} yet: without the former key nobody can read them`,
      'Run bun run cli secrets rotate.',
      { keys: keysOf(outdated) },
    ),
  ]
}

/** Which key encrypted how many: keys by their public ids. */
function keysOf(groups: SecretGroup[]): { key: string; secrets: number; setting: string | null }[] {
  const known = encryptionKeyIds()
  const names = ['SECRET_KEY', 'SECRET_KEY_PREVIOUS']
  const by_key = Map.groupBy(groups, ({ key_id }) => key_id)
  return [...by_key].map(([key_id, of_key]) => ({
    key: key_id || 'not named (older release)',
    secrets: sumOf(of_key),
    setting: names[known.indexOf(key_id)] ?? null,
  }))
}
