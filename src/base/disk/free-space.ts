/** Tells when the disk under DATA_DIR has no room left: a full disk would stop the database of all organizations. */
import { statfs } from 'node:fs/promises'
import { config } from '../config'
import { ApiError } from '../errors'
import { safeError } from '../log'

/** Largest messages for which the disk must have room: those that arrive at once, and their rows. */
const RESERVED_MESSAGES = 8

/** Bytes under DATA_DIR that are kept free. */
export function reserveBytes(): number {
  return RESERVED_MESSAGES * config.SMTP_MAX_BYTES
}

/** True when the bytes of messages, or the database, are in DATA_DIR. */
export function usesDataDir(): boolean {
  return config.ATTACHMENT_STORE === 'file' || !config.DATABASE_URL
}

/** Time that the answer of the system holds: no disk takes the reserve in it. */
const HOLDS_MS = 100

type Disk = { free: number; size: number }

let asked: { at_ms: number; answer: Promise<Disk | undefined> } | undefined

/** Bytes that may still be written under DATA_DIR. */
export async function freeBytes(): Promise<number> {
  return (await diskBytes())?.free ?? Number.POSITIVE_INFINITY
}

/** Bytes of the file system under DATA_DIR; undefined before the folder is made, with the first file. */
export function diskBytes(): Promise<Disk | undefined> {
  const now_ms = performance.now()
  if (!asked || now_ms - asked.at_ms > HOLDS_MS) asked = { at_ms: now_ms, answer: askSystem() }
  return asked.answer
}

async function askSystem(): Promise<Disk | undefined> {
  try {
    const { bavail, blocks, bsize } = await statfs(config.DATA_DIR)
    return { free: bavail * bsize, size: blocks * bsize }
  } catch (error) {
    if (safeError(error).code === 'ENOENT') return undefined
    throw error
  }
}

/** @throws SERVICE_UNAVAILABLE when no more than the reserve is free under DATA_DIR */
export async function requireRoom(): Promise<void> {
  if ((await freeBytes()) < reserveBytes()) {
    throw new ApiError('SERVICE_UNAVAILABLE', { reason: 'There is not enough storage at the moment' })
  }
}
