/** Starts the SMTP listener of the service: its settings, and what stands behind MAIL, RCPT and DATA. */
import { config } from '../../base/config'
import type { Connection } from '../../base/db/transact'
import { log } from '../../base/log'
import { observeSmtp } from '../../base/metrics/smtp-transactions'
import { type SmtpListener, startSmtpListener } from '../smtp/listener'
import { acceptMessage, findRecipient } from './accept'
import { checkCapacity } from './capacity'
import { recordRefusal } from './refused-ledger'
import { endRefusals, noteRefusal } from './refused-mail'

/**
 * Listens on SMTP_PORT.
 * @param tls PEM; STARTTLS is offered only with it
 * @throws the error of the socket, such as `EADDRINUSE`
 */
export function startInbound(connection: Connection, tls?: { cert: string; key: string }): Promise<SmtpListener> {
  return startSmtpListener({
    port: config.SMTP_PORT,
    host: config.HOST,
    hostname: config.SMTP_HOSTNAME,
    max_bytes: config.SMTP_MAX_BYTES,
    max_clients: config.SMTP_MAX_CLIENTS,
    max_clients_per_address: config.SMTP_MAX_CLIENTS_PER_ADDRESS,
    allowed: config.SMTP_ALLOWED_NETWORKS,
    proxies: config.SMTP_TRUSTED_PROXIES,
    relays: config.SMTP_TRUSTED_RELAYS,
    tls,
    refusal: checkCapacity(connection.sql),
    observe: observeSmtp,
    refused: (note, mail) => {
      noteRefusal(note)
      if (mail) void recordRefusal(connection, note, mail)
    },
    closed: endRefusals,
    recipients: (address) => findRecipient(connection, address),
    store: (envelope, raw) => acceptMessage(connection, envelope, raw),
    log,
  })
}
