/** Wakes the workers of all processes when there is work. Only a hint: the drain looks each second in any case. */
import { setTimeout as sleep } from 'node:timers/promises'
import { noticesClient, shortConnection } from '../../base/db/pool'
import { OUTBOX_KINDS } from '../../base/db/schema'
import { log, safeError } from '../../base/log'
import type { LaneName } from './due-lanes'
import type { OutboxKind } from './job'

export const WAKE_CHANNEL = 'deskwire_outbox'

/**
 * NOTIFY takes a lock of the whole database at commit, so it is sent at most 10 times a second, outside transactions.
 * Measured with fsync on: 8 connections made 1,736 commits a second, and 316 with NOTIFY in each; 32 connections made
 * 2,924 and 230; with at most 10 NOTIFY a second 3,094.
 */
const NOTIFY_EVERY_MS = 100
/** The time that stopping waits for UNLISTEN. */
const UNLISTEN_MOST_MS = 1000

type Listener = (kind: OutboxKind, lanes?: LaneName[]) => void

const listeners = new Set<Listener>()
const waiting = new Set<OutboxKind>()

/** Calls `listener` when this process has committed work of a kind. Returns the function that ends it. */
export function onWake(listener: Listener): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/**
 * Calls `listener` when another process has committed work, and for every kind when a lost connection is back. Behind a
 * pooler nothing is heard.
 */
export function listenForWakes(listener: (kind: OutboxKind) => void): { stop(): Promise<void> } {
  const wakeAll = (kinds: readonly string[]) => {
    for (const kind of OUTBOX_KINDS) if (kinds.includes(kind)) listener(kind)
  }
  const listening = noticesClient()
    ?.listen(
      WAKE_CHANNEL,
      (kinds) => wakeAll(kinds.split(',')),
      () => wakeAll(OUTBOX_KINDS),
    )
    .catch((error) =>
      log.warn({ error: safeError(error) }, 'LISTEN failed: work of other processes is found by looking'),
    )
  return {
    async stop() {
      // Without a connection there is nothing to end, and a dead one that nobody closed never answers.
      const ended = listening?.then((listened) => listened?.unlisten()).catch(() => {})
      await Promise.race([ended, sleep(UNLISTEN_MOST_MS, undefined, { ref: false })])
    },
  }
}

/**
 * Wakes the workers for a kind. To be called after the commit that made the work visible.
 * @param lanes that have the work, if they are known: workers of this process then take it without a look
 */
export function wake(kind: OutboxKind, lanes?: LaneName[]): void {
  for (const listener of listeners) listener(kind, lanes)
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
