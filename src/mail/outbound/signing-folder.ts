/** Keeps the file of a message that is signed, and too large for the memory, in a folder that goes with it. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { SendMailOptions } from 'nodemailer'

/**
 * Gives a message that is signed a folder for its file. The library removes the file, but not one that is just being
 * made when the rest of the message cannot be read.
 */
export async function inOwnFolder<T>(
  message: SendMailOptions,
  send: (message: SendMailOptions) => Promise<T>,
): Promise<T> {
  if (!message.dkim) return send(message)
  const cacheDir = await mkdtemp(path.join(tmpdir(), 'deskwire-signed-'))
  try {
    return await send({ ...message, dkim: { ...message.dkim, cacheDir } })
  } finally {
    await rm(cacheDir, { recursive: true, force: true })
  }
}
