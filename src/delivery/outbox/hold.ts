/**
 * Lets the outbox wait in a service that was restored: the lost one may have sent what is in it, so the operator
 * decides (`cli outbox resume`). A file in DATA_DIR says so. Mail that came in is filed meanwhile, which sends nothing.
 */
import fs from 'node:fs'
import path from 'node:path'
import { config } from '../../base/config'
import type { OutboxKind } from './job'

/** Name of the file. */
export const OUTBOX_WAITS = 'outbox-waits'

/** Kinds of work that leave the service. */
const SENDS: ReadonlySet<OutboxKind> = new Set(['webhook', 'email', 'letter', 'draft'])

/** The answer of the file system holds for this time: it is asked before each look at the outbox. */
const HOLDS_MS = 500

let asked: { at_ms: number; waits: boolean } | undefined

/** True while work of the kind is not to be begun. */
export function isHeld(kind: OutboxKind): boolean {
  return SENDS.has(kind) && outboxWaits()
}

/** True while nothing is sent. */
export function outboxWaits(): boolean {
  const now_ms = performance.now()
  if (!asked || now_ms - asked.at_ms > HOLDS_MS) asked = { at_ms: now_ms, waits: fs.existsSync(fileOf()) }
  return asked.waits
}

/** Lets the outbox of a restored service wait. Call it before that service starts. */
export function holdOutbox(): void {
  fs.writeFileSync(fileOf(), '', { mode: 0o600, flush: true })
  asked = undefined
}

/** Ends the wait: a running service begins within a second. @returns false when nothing waited */
export function resumeOutbox(): boolean {
  const waited = fs.existsSync(fileOf())
  fs.rmSync(fileOf(), { force: true })
  asked = undefined
  return waited
}

function fileOf(): string {
  return path.join(config.DATA_DIR, OUTBOX_WAITS)
}
