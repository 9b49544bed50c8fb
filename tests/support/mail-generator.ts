/** Mail in masses: `smtp-source` of Debian's package postfix sends it, a relay counts what was acknowledged. */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { type Service, until } from './service'
import type { CountingRelay } from './smtp-relay'

/** Each of its messages gets a Message-ID made of process, session and number. */
const SMTP_SOURCE = '/usr/sbin/smtp-source'
const PAGE = 100

/** Sessions of the generator at a time. */
export const SESSIONS = 20

/** Why there is no generator on this machine. */
export const WHY_NO_GENERATOR = existsSync(SMTP_SOURCE) ? undefined : `${SMTP_SOURCE} is not installed`

/**
 * Sends until so many messages are acknowledged. The generator ends when a connection breaks, and is started again with
 * what is left of all. It goes on after this.
 */
export async function sendUntil(
  relay: CountingRelay,
  { to, wanted, all }: { to: string; wanted: number; all: number },
): Promise<void> {
  let generator: ChildProcess | undefined
  const generate = () => {
    const left = all - relay.acknowledged.length
    const options = ['-d', '-s', String(SESSIONS), '-m', String(left), '-l', '5000', '-f', 'carla@customer.example']
    return spawn(SMTP_SOURCE, [...options, '-t', to, `127.0.0.1:${relay.port}`], { stdio: 'ignore' })
  }
  await until(
    `${wanted} messages are acknowledged`,
    () => {
      if (relay.acknowledged.length >= wanted) return true
      if (!generator || generator.exitCode !== null || generator.signalCode !== null) generator = generate()
      return false
    },
    240_000,
  )
}

export type LedgerRow = {
  id: string
  email_message_id: string
  outcome: string
  ticket_id: string
  mailbox: { address: string }
}

/** The whole ledger of the service. */
export async function readLedger(service: Service): Promise<LedgerRow[]> {
  const rows: LedgerRow[] = []
  for (let cursor = ''; ; ) {
    const { body } = await service.call('GET', `/inbound-messages?per_page=${PAGE}${cursor && `&cursor=${cursor}`}`)
    rows.push(...body.data)
    if (!body.meta.next_cursor) return rows
    cursor = body.meta.next_cursor
  }
}

/** Waits until nothing waits to be filed. */
export function untilFiled(service: Service): Promise<void> {
  const isFiled = async () =>
    (await service.call('GET', '/inbound-messages?outcome=pending&per_page=1')).body.meta.total === 0
  return until('everything that was accepted is filed', isFiled, 240_000)
}
