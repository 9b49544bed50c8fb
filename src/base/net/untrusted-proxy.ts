/**
 * Remembers that a peer which is not trusted sent X-Forwarded-For. Mostly that is a reverse proxy that TRUSTED_PROXIES
 * does not name: then all clients behind it count as one address, and a few wrong passwords of one lock all of them
 * out. The service writes a file once, because `bun run cli doctor` is another process.
 */
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { isInNetworks } from '../address/networks'
import { config } from '../config'

/** Days after which the doctor says no more about it: it may have been one client that sent the header itself. */
const REPORT_DAYS = 7

type UntrustedProxy = { peer: string; seen_at: string }

let is_noted = false

/**
 * Notes a peer that sent X-Forwarded-For, unless it is trusted.
 * @returns true at the first one since the process began, which is the time for a line in the log
 */
export function noteForwarder(peer: string): boolean {
  if (is_noted || isInNetworks(peer, config.TRUSTED_PROXIES)) return false
  is_noted = true
  const note: UntrustedProxy = { peer, seen_at: new Date().toISOString() }
  // Without the file only the doctor says nothing.
  void writeFile(noteFile(), JSON.stringify(note), { mode: 0o600 }).catch(() => {})
  return true
}

/** The peer that a process noted within the last 7 days; undefined when there is none, or when it is trusted now. */
export async function findUntrustedProxy(): Promise<UntrustedProxy | undefined> {
  const text = await readFile(noteFile(), 'utf8').catch(() => undefined)
  if (text === undefined) return undefined
  const { peer, seen_at } = JSON.parse(text) as UntrustedProxy
  const age_days = (Date.now() - Date.parse(seen_at)) / 86_400_000
  return age_days > REPORT_DAYS || isInNetworks(peer, config.TRUSTED_PROXIES) ? undefined : { peer, seen_at }
}

function noteFile(): string {
  return path.join(config.DATA_DIR, 'untrusted-proxy.json')
}
