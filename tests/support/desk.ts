/** The set-up of mail tests: API, SMTP listener, a sink for what leaves, and organizations with a mailbox. */
import { newId } from '../../src/base/db/columns'
import { closeTransports } from '../../src/mail/outbound/transport'
import { createOrganization, type Organization, startApi, stopApi } from './api'
import type { TestDatabase } from './database'
import { startDns, type Zone } from './dns'
import { createMailbox, startListener } from './mail'
import { withSettings } from './settings'
import { type SmtpSink, startSmtpSink } from './smtp'

/** An organization with a mailbox. */
export type Desk = Organization & { mailbox_id: string; address: string }

export type StartedDesk = Desk & {
  database: TestDatabase
  /** Port of the SMTP listener. */
  port: number
  /** The server that mailboxes send to. */
  sink: SmtpSink
  /** Another organization with a mailbox that sends to the sink. */
  createDesk: (mailbox?: Record<string, unknown>) => Promise<Desk>
  stop: () => Promise<void>
}

/**
 * Starts everything that the mail tests of a file need; in `beforeAll`, with `stop` in `afterAll`. No request waits for
 * the first attempt of an email: mail leaves when the test drains the outbox.
 * @param mailbox fields of the first mailbox, which sends to the sink unless they say otherwise
 */
export async function startDesk(mailbox: Record<string, unknown> = {}): Promise<StartedDesk> {
  const settings = withSettings({ EMAIL_INLINE_WAIT_MS: 1 })
  const database = await startApi(10)
  const [listener, sink] = await Promise.all([startListener(), startSmtpSink()])
  const create = (fields: Record<string, unknown> = {}) => createDesk({ smtp: smtpTo(sink), ...fields })
  const stop = async () => {
    settings.restore()
    closeTransports()
    sink[Symbol.dispose]()
    await listener.close({ timeout_ms: 1000 })
    await stopApi()
  }
  return { ...(await create(mailbox)), database, port: listener.port, sink, createDesk: create, stop }
}

/** Proves mail from 127.0.0.1 in the name of a domain. */
export const provenZone = (domain: string): Zone => ({
  [domain]: { TXT: ['v=spf1 ip4:127.0.0.1 -all'] },
  [`_dmarc.${domain}`]: { TXT: ['v=DMARC1; p=reject'] },
})
/** Tells that mail from 127.0.0.1 in the name of a domain is forged. */
export const forgedZone = (domain: string): Zone => ({
  [domain]: { TXT: ['v=spf1 -all'] },
  [`_dmarc.${domain}`]: { TXT: ['v=DMARC1; p=reject'] },
})

/** As `startDesk`, with a DNS server of its own, in which senders are looked up. */
export async function startDeskWithDns(zone: Zone, mailbox: Record<string, unknown> = {}) {
  const dns = await startDns(zone)
  const settings = withSettings({ DNS_SERVERS: [dns.address] })
  const desk = await startDesk(mailbox)
  const stop = async () => {
    settings.restore()
    await desk.stop()
    dns[Symbol.dispose]()
  }
  return { ...desk, dns, stop }
}

/** @param fields of the mailbox; without `smtp` it only receives */
export async function createDesk(fields: Record<string, unknown> = {}): Promise<Desk> {
  const organization = await createOrganization()
  const address = `h.${newId().slice(-12)}@desk.example`
  const mailbox = await createMailbox(organization.admin, { address, ...fields })
  return { ...organization, mailbox_id: mailbox.id, address: mailbox.address }
}

/** The `smtp` of a mailbox that sends to this port, without TLS and sign-in unless `more` says so. */
export function smtpTo({ port }: { port: number }, more: Record<string, unknown> = {}) {
  return { host: '127.0.0.1', port, security: 'none', ...more }
}

/** A port that nothing listens on: emails get their Message-ID, and stay in the outbox. */
export const NO_SERVER = { port: 1 }
