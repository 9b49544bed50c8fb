/** Opens the files of a folder that is imported: a path leads nowhere else. */
import { config } from '../../base/config'
import { openPlain, placeBelow } from '../../base/disk/plain-file'
import { type Fault, fieldError } from '../../base/errors'
import type { ImportedFile } from './model'

/**
 * Says what is wrong with the path of a file: it must lead to a plain file below the folder, and no part of it may be
 * a link.
 * @param path of the field
 */
export async function faultOfFile({ url }: ImportedFile, path: string): Promise<Fault | undefined> {
  if (!isRelative(url)) return { path, message: 'must be a path in the folder, without . and ..' }
  try {
    const handle = await openPlain(await placeBelow('.', url))
    const { size } = await handle.stat()
    await handle.close()
    const most = Math.max(config.ATTACHMENT_MAX_BYTES, config.SMTP_MAX_BYTES)
    return size > most ? { path, message: `is larger than ${most} bytes` } : undefined
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return { path, message: 'is no file in the folder' }
    if (['ELOOP', 'ENOTDIR', 'ENAMETOOLONG', 'EACCES'].includes(code ?? '')) {
      return { path, message: 'cannot be read, or leads through a link' }
    }
    throw error
  }
}

/** Throws all faults of files at once. @throws VALIDATION_ERROR */
export function refuseFaults(faults: Fault[]): void {
  const [first, ...others] = faults
  if (!first) return
  const error = fieldError('VALIDATION_ERROR', first.path, first.message)
  ;(error.details.errors as Fault[]).push(...others)
  throw error
}

function isRelative(url: string): boolean {
  return !/[\\\0]/.test(url) && url.split('/').every((part) => part !== '' && part !== '.' && part !== '..')
}
