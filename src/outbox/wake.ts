/** Tells the drains of all processes that there is work. A hint only: croner looks each second whatever happens. */
import { shortConnection } from '../db/client'
import { log, safeError } from '../log'

export type OutboxKind = 'webhook' | 'email' | 'inbound'

export const WAKE_CHANNEL = 'deskwire_outbox'

/** NOTIFY takes a lock of the whole database at commit (delivery.md section 2), so it is sent at most 10 times a second. */
const NOTIFY_EVERY_MS = 100

const listeners = new Set<(kind: OutboxKind) => void>()
const waiting = new Set<OutboxKind>()
let timer: ReturnType<typeof setTimeout> | undefined

/** Calls `listener` when work of a kind was committed by this process. Returns what ends that. */
export function onWake(listener: (kind: OutboxKind) => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** To be called after the commit that made the work visible. */
export function wake(kind: OutboxKind): void {
  for (const listener of listeners) listener(kind)
  waiting.add(kind)
  timer ??= setTimeout(notify, NOTIFY_EVERY_MS)
}

async function notify(): Promise<void> {
  timer = undefined
  const kinds = [...waiting].join(',')
  waiting.clear()
  try {
    await shortConnection().notify(WAKE_CHANNEL, kinds)
  } catch (error) {
    log.debug({ error: safeError(error) }, 'NOTIFY failed')
  }
}
