/** Tries the stored secrets: after a restore with another SECRET_KEY they cannot be decrypted. */
import { config } from '../config'
import type { Connection } from '../db/transact'
import { decrypt, ENCRYPTED_COLUMNS, encryptionKeyIds, type StoredAt } from '../secrets'
import { counted, type Finding, failure, warning } from './finding'
import { hasSecretKey } from './open'

type Column = StoredAt['column']

/** The secrets of a column that were encrypted with one key, and one of them. */
type Group = { column: Column; key_id: string; n: number; organization_id: string; id: string; encrypted: string }

const NAMES: Record<Column, string> = {
  'letters.sealed_text': 'letter that waits',
  'mailboxes.smtp_password': 'password of a mailbox',
  'mailboxes.dkim_private_key': 'DKIM key',
  'webhooks.secret': 'secret of a webhook',
  'webhooks.previous_secret': 'former secret of a webhook',
}

/** Tries one secret of each column and key, and counts the others with it. */
export async function checkStoredSecrets(connection: Connection): Promise<Finding[]> {
  const groups = (await Promise.all(ENCRYPTED_COLUMNS.map((column) => readGroups(connection, column)))).flat()
  if (!hasSecretKey()) return groups.length > 0 ? [missingKey()] : []
  const lost = groups.filter((group) => !canDecrypt(group))
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

function lostSecrets(lost: Group[], all: Group[]): Finding[] {
  if (lost.length === 0) return []
  const [n, total] = [sum(lost), sum(all)]
  const kinds = Map.groupBy(lost, ({ column }) => column)
  const list = [...kinds].map(([column, groups]) => `${sum(groups)} × ${NAMES[column]}`).join(', ')
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

function outdatedSecrets(outdated: Group[]): Finding[] {
  if (outdated.length === 0) return []
  return [
    warning(
      `The present SECRET_KEY has not encrypted ${counted(sum(outdated), 'stored secret')} yet: without the former key nobody can read them`,
      'Run bun run cli secrets rotate.',
      { keys: keysOf(outdated) },
    ),
  ]
}

/** Which key encrypted how many: keys by their public ids. */
function keysOf(groups: Group[]): { key: string; secrets: number; setting: string | null }[] {
  const known = encryptionKeyIds()
  const names = ['SECRET_KEY', 'SECRET_KEY_PREVIOUS']
  const by_key = Map.groupBy(groups, ({ key_id }) => key_id)
  return [...by_key].map(([key_id, of_key]) => ({
    key: key_id || 'not named (older release)',
    secrets: sum(of_key),
    setting: names[known.indexOf(key_id)] ?? null,
  }))
}

function sum(groups: Group[]): number {
  return groups.reduce((total, { n }) => total + n, 0)
}

async function readGroups({ sql }: Connection, column: Column): Promise<Group[]> {
  const [table, name] = column.split('.') as [string, string]
  const rows = await sql<Omit<Group, 'column'>[]>`
    with secrets as (
      select organization_id, id, ${sql(name)} as encrypted,
        case when position('.' in ${sql(name)}) > 0 then split_part(${sql(name)}, '.', 1) else '' end as key_id
      from ${sql(table)} where ${sql(name)} is not null
    )
    select distinct on (key_id) key_id, count(*) over (partition by key_id) as n, organization_id, id, encrypted
    from secrets order by key_id, id desc`
  return rows.map((row) => ({ ...row, column }))
}

function canDecrypt({ column, organization_id, id, encrypted }: Group): boolean {
  try {
    decrypt(encrypted, { column, organization_id, id })
    return true
  } catch {
    return false
  }
}
