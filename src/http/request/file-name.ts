/** Cleans what an upload or an email says of a file: its name and its media type. */
import { safeFileName } from '../../base/mime/safe-file-name'

/** Makes a file name safe to store, show and offer. Never empty. */
export function cleanFileName(name: string): string {
  return safeFileName(name) || 'attachment'
}

/** Gives the media type that can stand in a header, without parameters. */
export function mediaType(text: string): string {
  const type = text.split(';')[0]!.trim().toLowerCase()
  return /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}$/.test(type) ? type : 'application/octet-stream'
}
