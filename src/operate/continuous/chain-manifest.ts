/**
 * The manifest of a continuous backup: whose it is, which key it needs, and its chains. A chain is one or more base
 * copies and the log since the first of them without a gap. The manifest is the one object that is replaced, and its
 * head, which names what was written last: so each has a number that only grows.
 */
import { Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { isNothingThere } from '../../desk/attachments/store-faults'
import { BackupError } from '../backup/backup-error'
import { type Accepted, DamagedBackupError } from './sealed'
import { contentOf, HEAD, MANIFEST, type Vault } from './vault'

const FORMAT = 2
/** That of releases until 0.2, whose objects have no MAC. */
const UNPROVEN_FORMAT = 1

const id = Type.String({ pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' })
const time = Type.String({ pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{8,12}Z$' })
const segment = Type.String({ pattern: '^[0-9A-F]{24}$' })

/** A copy of the whole database, made while it was in use, and the list of files that its rows named. */
const Base = Type.Object({
  id,
  /** The copy can be restored to moments from `ended_at` on. */
  started_at: time,
  ended_at: time,
  /** The pieces of the log that make it whole. Absent when only files are backed up. */
  log: Type.Optional(Type.Object({ first: segment, last: segment, label: Type.String() })),
  parts: Type.Integer({ minimum: 0 }),
  bytes: Type.Integer({ minimum: 0 }),
  /** Fingerprint of the SECRET_KEY that proves it and all files of its list. Absent in those of releases until 0.2. */
  key: Type.Optional(Type.String()),
})
export type Base = typeof Base.static

/** Nothing after `ended_at`, and no piece of the log after `last`, is in a chain that has them. */
const Chain = Type.Object({
  id,
  bases: Type.Array(Base),
  ended_at: Type.Union([time, Type.Null()]),
  last: Type.Optional(segment),
})
export type Chain = typeof Chain.static

const Manifest = Type.Object({
  format: Type.Literal(FORMAT),
  /** Grows with each manifest of a place. Zero for one of a release until 0.2. */
  generation: Type.Integer({ minimum: 0 }),
  /** The service whose backup it is, and the process of it that writes. */
  service: Type.String(),
  writer: Type.String(),
  release: Type.String(),
  /** Fingerprint of SECRET_KEY. */
  key: Type.String(),
  /** Major version and system identifier of the embedded PostgreSQL. Null when only files are backed up. */
  postgresql: Type.Union([Type.Object({ major: Type.String(), system: Type.String() }), Type.Null()]),
  chains: Type.Array(Chain),
})
export type Manifest = typeof Manifest.static

/** The last write. */
const Head = Type.Object({
  /** That of the manifest at the time. */
  generation: Type.Integer({ minimum: 1 }),
  at: time,
  /** The last piece of the log of a chain. Absent when only files are backed up. */
  shipped: Type.Optional(Type.Object({ chain: id, piece: segment })),
})
export type Head = typeof Head.static

/** @returns undefined when the target has none @throws BackupError, DamagedBackupError */
export async function readManifest(vault: Vault, accepted?: Accepted): Promise<Manifest | undefined> {
  const text = await contentOf(vault, MANIFEST, accepted).catch(unlessNothing)
  if (text === undefined) return undefined
  const manifest = Object(parsed(text.toString()))
  // One of this form has a proof, whatever is accepted.
  if (manifest.format === FORMAT && accepted === 'any') return readManifest(vault, 'proven')
  const is_unproven = manifest.format === UNPROVEN_FORMAT
  if (is_unproven) Object.assign(manifest, { format: FORMAT, generation: 0 })
  if (manifest.format !== FORMAT) {
    throw new BackupError(`${vault.target.place} was made by a release with another form of backups`)
  }
  if (!Value.Check(Manifest, manifest)) throw new DamagedBackupError('the manifest of the backup names what none has')
  // Nothing in it says which copies can be proven.
  if (is_unproven) for (const { bases } of manifest.chains) for (const base of bases) delete base.key
  return manifest
}

/**
 * Reads manifest and head. The head is read first, because it is written last.
 * @returns undefined when the target has no manifest. There is no head in a backup of a release until 0.2
 * @throws as `read` does; DamagedBackupError when one of the two is missing, or the manifest is older than the head
 */
export async function readWithHead(
  vault: Vault,
  read: () => Promise<Manifest | undefined>,
): Promise<{ manifest: Manifest; head: Head | undefined } | undefined> {
  const found = await contentOf(vault, HEAD).then(
    (text) => ({ text: text.toString() }),
    (error) => ({ error }),
  )
  const manifest = await read()
  return manifest && { manifest, head: headOf(found, manifest) }
}

function headOf(found: { text: string } | { error: unknown }, { generation }: Manifest): Head | undefined {
  if ('error' in found) {
    if (!isNothingThere(found.error)) throw found.error
    if (generation === 0) return undefined
    throw new DamagedBackupError('the backup is damaged: it has lost its object head')
  }
  const head = parsed(found.text)
  if (!Value.Check(Head, head)) throw new DamagedBackupError('the backup is damaged: its head names what none has')
  if (head.generation <= generation) return head
  throw new DamagedBackupError('the backup is damaged: its manifest is older than what was written last')
}

/** Replaces the head. Write the manifest before. */
export async function writeHead(vault: Vault, head: Omit<Head, 'at'>): Promise<void> {
  await vault.replace(HEAD, Buffer.from(JSON.stringify({ ...head, at: new Date().toISOString() })))
}

function unlessNothing(error: unknown): undefined {
  if (!isNothingThere(error)) throw error
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new DamagedBackupError('the backup is damaged: its manifest or head is no JSON')
  }
}

/** Replaces the manifest. Without one nothing can be restored: when the disk is full the one before stays. */
export async function writeManifest(vault: Vault, manifest: Omit<Manifest, 'format'>): Promise<void> {
  await vault.replace(MANIFEST, Buffer.from(JSON.stringify({ format: FORMAT, ...manifest }, null, 1)))
}

/** Names of objects. */
export const logName = (chain_id: string, name: string) => `${logFolder(chain_id)}/${name}`
export const chainFolder = (chain_id: string) => `chains/${chain_id}`
export const logFolder = (chain_id: string) => `${chainFolder(chain_id)}/log`
export const partName = (chain_id: string, base_id: string, part: number) =>
  `${baseFolder(chain_id, base_id)}/part-${String(part).padStart(4, '0')}`
export const listName = (chain_id: string, base_id: string) => `${baseFolder(chain_id, base_id)}/files`
const baseFolder = (chain_id: string, base_id: string) => `${chainFolder(chain_id)}/bases/${base_id}`
export const FILES = 'files'
export const fileName = (storage_key: string) => `${FILES}/${storage_key}`
