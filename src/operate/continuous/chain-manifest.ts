/**
 * The manifest of a continuous backup: whose it is, which key it needs, and its chains. A chain is one or more base
 * copies and the log since the first of them without a gap.
 */
import { Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { isNothingThere } from '../../desk/attachments/store-faults'
import { BackupError } from '../backup/backup-error'
import { DamagedBackupError } from './sealed'
import { contentOf, MANIFEST, type Vault } from './vault'

const FORMAT = 1

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
})
export type Base = typeof Base.static

/** Nothing after `ended_at` is in a chain that has one. */
const Chain = Type.Object({ id, bases: Type.Array(Base), ended_at: Type.Union([time, Type.Null()]) })
export type Chain = typeof Chain.static

const Manifest = Type.Object({
  format: Type.Literal(FORMAT),
  /** The service whose backup it is, and the process of it that writes. */
  service: Type.String(),
  writer: Type.String(),
  release: Type.String(),
  /** Fingerprint of SECRET_KEY. */
  key: Type.String(),
  /** Of the embedded PostgreSQL: major version and system identifier. Null when only files are backed up. */
  postgresql: Type.Union([Type.Object({ major: Type.String(), system: Type.String() }), Type.Null()]),
  chains: Type.Array(Chain),
})
export type Manifest = typeof Manifest.static

/** @returns undefined when the target has none @throws BackupError, DamagedBackupError */
export async function readManifest(vault: Vault): Promise<Manifest | undefined> {
  const text = await contentOf(vault, MANIFEST).catch((error) => {
    if (!isNothingThere(error)) throw error
  })
  if (text === undefined) return undefined
  const manifest = Object(parsed(text.toString()))
  if (manifest.format !== FORMAT) {
    throw new BackupError(`${vault.target.place} was made by a release with another form of backups`)
  }
  if (!Value.Check(Manifest, manifest)) throw new DamagedBackupError('the manifest of the backup names what none has')
  return manifest
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new DamagedBackupError('the manifest of the backup is damaged: it is no JSON')
  }
}

/** Replaces the manifest. Without one nothing can be restored: when the disk is full the one before stays. */
export async function writeManifest(vault: Vault, manifest: Omit<Manifest, 'format'>): Promise<void> {
  await vault.replace(MANIFEST, Buffer.from(JSON.stringify({ format: FORMAT, ...manifest }, null, 1)))
}

/** Names of objects. */
export const logName = (chain_id: string, name: string) => `${logFolder(chain_id)}/${name}`
export const logFolder = (chain_id: string) => `chains/${chain_id}/log`
export const partName = (chain_id: string, base_id: string, part: number) =>
  `${baseFolder(chain_id, base_id)}/part-${String(part).padStart(4, '0')}`
export const listName = (chain_id: string, base_id: string) => `${baseFolder(chain_id, base_id)}/files`
const baseFolder = (chain_id: string, base_id: string) => `chains/${chain_id}/bases/${base_id}`
export const FILES = 'files'
export const fileName = (storage_key: string) => `${FILES}/${storage_key}`
