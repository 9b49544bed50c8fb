/**
 * The manifest of a backup. It is written last: a folder without it, or with another checksum, is no whole backup.
 * Everybody who can change a backup can make a checksum, so that the names in it are compared with those that a backup
 * has. Its MAC, which covers the checksums of all files, can be made by who has the secret key: that is in the folder,
 * so that the MAC proves something where the settings name the key.
 */
import { createHash } from 'node:crypto'
import { Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { isErrno } from '../../base/db/embedded/faults'
import { sign, verify } from '../../base/secrets'
import { fileStore } from '../../desk/attachments/storage'
import { BackupError } from './backup-error'
import { textOf } from './read-file'

const MANIFEST = 'manifest.json'

/** Version of the layout of the folder. */
const FORMAT = 1

/** The list of attachments and originals of mail. */
export const LIST = 'files.jsonl'
/** The secret key, and the previous one. */
export const KEY_FILES = ['secret-key', 'secret-key-previous'] as const

const SCHEMAS = ['public', 'drizzle'] as const
const count = Type.Integer({ minimum: 0 })
const name = Type.String({ pattern: '^[a-z_][a-z0-9_]*$' })
const schema = Type.Union(SCHEMAS.map((one) => Type.Literal(one)))
const stored = { size: count, sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }) }

/** A table with the columns whose values are stored: a generated one is computed again. */
const Table = Type.Object({ schema, name, columns: Type.Array(name) })
export type Table = typeof Table.static

/** A file of the backup: its name in the folder, bytes, and SHA-256 in lower case hex. */
export type FileInBackup = { file: string; size: number; sha256: string }

const Manifest = Type.Object({
  format: Type.Literal(FORMAT),
  /** Version of the release that made the backup. */
  release: Type.String(),
  /** Name of the last migration of the database, and the times by which all of its migrations are known. */
  migration: Type.String(),
  migrations: Type.Array(Type.Number()),
  /** Time of the snapshot. */
  created_at: Type.String(),
  /** Version of the server. */
  postgresql: Type.String(),
  tables: Type.Array(Type.Composite([Table, Type.Object({ ...stored, rows: count, file: Type.String() })])),
  /** The last value that each sequence gave; null when it gave none. */
  sequences: Type.Array(
    Type.Object({ schema, name, last_value: Type.Union([Type.String({ pattern: '^-?[0-9]+$' }), Type.Null()]) }),
  ),
  /** Attachments and originals of mail: how many, their bytes, and the list of them. */
  files: Type.Object({ ...stored, file: Type.Literal(LIST), count, bytes: count, missing: count, damaged: count }),
  /** The secret key, and the previous one when it was set. */
  secret_keys: Type.Array(Type.Object({ ...stored, file: Type.Union(KEY_FILES.map((one) => Type.Literal(one))) }), {
    minItems: 1,
    maxItems: 2,
  }),
})
export type Manifest = typeof Manifest.static

/** Writes the manifest with a checksum of itself, and its MAC. */
export async function writeManifest(manifest: Omit<Manifest, 'format'>): Promise<void> {
  const body = { format: FORMAT, ...manifest }
  const text = JSON.stringify(
    { ...body, sha256: checksum(body), mac: sign('backup-proof', proven(checksum(body))).toString('hex') },
    null,
    1,
  )
  await fileStore('.').put(MANIFEST, Buffer.from(`${text}\n`))
}

function proven(sum: string): string {
  return `one copy\n${sum}`
}

/**
 * Compares the MAC of a manifest with the secret keys in use.
 * @throws BackupError when it has none, or another one
 */
export function requireProof({ manifest, mac }: FoundManifest): void {
  if (mac !== undefined && verify('backup-proof', proven(checksum(manifest)), Buffer.from(mac, 'hex'))) return
  throw new BackupError(
    mac === undefined
      ? 'nothing proves that the service made the backup: a release until 0.2 did, or somebody changed it. If nobody else could write there, add --unproven'
      : 'the backup was changed: its MAC is not that of the secret key',
  )
}

export type FoundManifest = { manifest: Manifest; mac: string | undefined }

/** Reads the manifest of the backup in the working directory. @throws BackupError when there is no whole one */
export async function readManifest(folder: string): Promise<FoundManifest> {
  const text = await textOf(MANIFEST).catch((error) => {
    if (!isErrno(error, 'ENOENT')) throw error
    throw new BackupError(`${folder} holds no whole backup: there is no ${MANIFEST}, which is written last`)
  })
  const { sha256, mac, ...manifest } = parsed(text, folder)
  if (manifest.format !== FORMAT) {
    throw new BackupError(`${folder} was made by a release with another form of backups (${manifest.format})`)
  }
  if (sha256 !== checksum(manifest)) throw new BackupError(`${MANIFEST} in ${folder} is damaged: its checksum is wrong`)
  if (!Value.Check(Manifest, manifest) || manifest.tables.some((table) => table.file !== tableFile(table))) {
    throw new BackupError(`${MANIFEST} in ${folder} names what no backup has`)
  }
  return { manifest, mac: mac === undefined ? undefined : String(mac) }
}

/** Where the rows of a table are in a backup. */
export function tableFile({ schema, name }: Pick<Table, 'schema' | 'name'>): string {
  return `database/${schema === 'public' ? '' : `${schema}.`}${name}.copy.zst`
}

function parsed(text: string, folder: string): { format?: unknown; sha256?: unknown; mac?: unknown } {
  try {
    return Object(JSON.parse(text))
  } catch {
    throw new BackupError(`${MANIFEST} in ${folder} is damaged: it is no JSON`)
  }
}

function checksum(manifest: object): string {
  return createHash('sha256').update(JSON.stringify(manifest)).digest('hex')
}
