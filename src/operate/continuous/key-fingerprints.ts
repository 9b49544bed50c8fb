/** Names SECRET_KEY without giving it away. */
import { createHmac } from 'node:crypto'
import { keysOf } from '../../base/secrets'

/** 96 bits of an HMAC with the key, and the same of the previous key. */
export function keyFingerprints(): string[] {
  return keysOf('backup').map((key) => createHmac('sha256', key).update('fingerprint').digest('hex').slice(0, 24))
}
