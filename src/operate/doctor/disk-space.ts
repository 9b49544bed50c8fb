/** Looks at the folders that the service writes. */
import { constants } from 'node:fs'
import { access, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { config } from '../../base/config'
import { reserveBytes, usesDataDir } from '../../base/disk/free-space'
import { safeError } from '../../base/log'
import { type Finding, failure, warning } from './finding'

const MIB = 1024 ** 2
/** Less is soon used up. */
const LITTLE_MIB = 1024
const LITTLE_TMP_MIB = 64
/** A share of the files that a file system can have. */
const FEW_FILES = 0.02

export type DataDir = { path: string; writable: boolean; free_mib: number }

/** Looks at DATA_DIR, and at the folder for temporary files. */
export async function checkDisk(): Promise<Finding[]> {
  return [...(await dataDirFindings()), ...(await temporaryFindings())]
}

/** Figures of DATA_DIR. */
export async function readDataDir(): Promise<DataDir> {
  const path = config.DATA_DIR
  try {
    await access(path, constants.W_OK)
    const { bavail, bsize } = await statfs(path)
    return { path, writable: true, free_mib: Math.floor((bavail * bsize) / MIB) }
  } catch {
    return { path, writable: false, free_mib: 0 }
  }
}

async function dataDirFindings(): Promise<Finding[]> {
  const path = config.DATA_DIR
  try {
    await access(path, constants.W_OK)
  } catch (error) {
    const { code } = safeError(error)
    // With a bucket and an external database nothing needs the folder.
    if (!usesDataDir()) return []
    if (code === 'ENOENT') {
      return [failure(`DATA_DIR ${path} does not exist`, 'Set DATA_DIR as for the service.')]
    }
    return [
      failure(
        `DATA_DIR ${path} cannot be written (${code}): uploads are answered 503 and mail 451`,
        'Give the folder to the OS user of the service, or mount its file system for writing.',
      ),
    ]
  }
  const { bavail, bsize, files, ffree } = await statfs(path)
  const free_bytes = bavail * bsize
  const [free_mib, reserve_mib] = [Math.floor(free_bytes / MIB), Math.ceil(reserveBytes() / MIB)]
  const action = `Free space on that file system, or give it a larger one. A shorter RAW_MAIL_RETENTION_DAYS or DELETED_RETENTION_DAYS frees some each night.`
  if (usesDataDir() && free_bytes < reserveBytes()) {
    return [
      failure(
        `Only ${free_mib} MiB are free under DATA_DIR ${path}, and ${reserve_mib} MiB are kept free for the database: uploads are answered 503 and mail 452`,
        action,
        { free_mib, reserve_mib },
      ),
    ]
  }
  if (free_mib < LITTLE_MIB)
    return [warning(`Only ${free_mib} MiB are free under DATA_DIR ${path}`, action, { free_mib })]
  if (files > 0 && ffree < files * FEW_FILES) {
    const message = `The file system of DATA_DIR ${path} can take ${ffree} more files: then uploads and mail fail although space is free`
    return [warning(message, 'Make a file system with more inodes, or move other files away.', { free_files: ffree })]
  }
  return []
}

async function temporaryFindings(): Promise<Finding[]> {
  const folder = tmpdir()
  try {
    await access(folder, constants.W_OK)
    const { bavail, bsize } = await statfs(folder)
    const free_mib = Math.floor((bavail * bsize) / MIB)
    if (free_mib >= LITTLE_TMP_MIB) return []
    return [
      warning(
        `Only ${free_mib} MiB are free in ${folder}, the folder for temporary files`,
        'Free space there, or set TMPDIR.',
      ),
    ]
  } catch {
    return [
      warning(`The folder for temporary files, ${folder}, cannot be written`, 'Mount one at /tmp, or set TMPDIR.'),
    ]
  }
}
