/** Tells the drains of all processes that there is work. A hint only: croner looks each second whatever happens. */
import { setTimeout as sleep } from 'node:timers/promises'
import { driverPool, shortConnection } from '../db/pool'
import { OUTBOX_KINDS } from '../db/schema'
import { log, safeError } from '../log'

export type OutboxKind = (typeof OUTBOX_KINDS)[number]

export const WAKE_CHANNEL = 'deskwire_outbox'

/** NOTIFY takes a lock of the whole database at commit (delivery.md section 2), so it is sent at most 10 times a second. */
const NOTIFY_EVERY_MS = 100
const UNLISTEN_MOST_MS = 1000

const listeners = new Set<(kind: OutboxKind) => void>()
const waiting = new Set<OutboxKind>()

/** Calls `listener` when work of a kind was committed by this process. Returns what ends that. */
export function onWake(listener: (kind: OutboxKind) => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Calls `listener` for what other processes tell, and for every kind whenever a lost connection is back. */
export function listenForWakes(listener: (kind: OutboxKind) => void): { stop(): Promise<void> } {
  const tell = (kinds: readonly string[]) => {
    for (const kind of OUTBOX_KINDS) if (kinds.includes(kind)) listener(kind)
  }
  const listening = driverPool()
    .listen(
      WAKE_CHANNEL,
      (kinds) => tell(kinds.split(',')),
      () => tell(OUTBOX_KINDS),
    )
    .catch((error) =>
      log.warn({ error: safeError(error) }, 'LISTEN failed: work of other processes is found by looking'),
    )
  return {
    async stop() {
      // Without a connection there is nothing to end, and a dead one that nobody closed never answers.
      const ended = listening.then((listened) => listened?.unlisten()).catch(() => {})
      await Promise.race([ended, sleep(UNLISTEN_MOST_MS, undefined, { ref: false })])
    },
  }
}

/** To be called after the commit that made the work visible. */
export function wake(kind: OutboxKind): void {
  for (const listener of listeners) listener(kind)
  if (waiting.size === 0) setTimeout(notify, NOTIFY_EVERY_MS)
  waiting.add(kind)
}

async function notify(): Promise<void> {
  const kinds = [...waiting].join(',')
  waiting.clear()
  try {
    await shortConnection().notify(WAKE_CHANNEL, kinds)
  } catch (error) {
    log.debug({ error: safeError(error) }, 'NOTIFY failed')
  }
}
