/** Signs in to the SMTP servers that mail leaves by, as the service does. Sends nothing. */
import { config } from '../../base/config'
import type { Connection } from '../../base/db/transact'
import { turns } from '../../base/flow/turns'
import { within } from '../../base/flow/within'
import { decrypt } from '../../base/secrets'
import { mayUseAddress } from '../../desk/messages/mailbox-address'
import { ANY_NETWORK, operatorServer } from '../../mail/letters/operator-server'
import { carriesLetters } from '../../mail/mailboxes/queries'
import { tokenSource } from '../../mail/outbound/access-token'
import { type MailboxSmtp, type SendOptions, sendOptions } from '../../mail/outbound/settings'
import { testMailbox } from '../../mail/outbound/transport'
import { counted, type Finding, failure, firstOf, warning } from './finding'

/** Connections at a time. */
const AT_ONCE = 50
/** Servers that are tried, those of the newest mailboxes. */
const MOST = 200
/** A server that takes longer counts as one that does not answer. */
const ANSWER_MS = 3500
const TIMEOUTS = { connect_ms: 3000, greeting_ms: 3000, silence_ms: 3000 }
const NO_ANSWER = `no answer within ${ANSWER_MS / 1000} s`

/** Tries the server of SYSTEM_SMTP_URL. */
export async function checkSystemServer(): Promise<Finding[]> {
  const server = operatorServer()
  if (!server) return []
  const why = await tryServer(server.smtp, { ...sendOptions(), allowed: ANY_NETWORK })
  if (why === undefined) return []
  return [
    failure(
      `The server of SYSTEM_SMTP_URL, ${hostAndPort(server.smtp)}, cannot be used: ${why}. Invitations and links for forgotten passwords do not leave`,
      'Correct SYSTEM_SMTP_URL, or look at that server.',
    ),
  ]
}

type Mailbox = MailboxSmtp & { organization_id: string; id: string; address: string; version: string | null }
type Tried = { mailboxes: Mailbox[]; why: string | undefined }

/** Tries the servers of all mailboxes that send, each once for the same account. */
export async function checkMailboxServers(connection: Connection): Promise<Finding[]> {
  const { sql } = connection
  const rows = await sql<Omit<Mailbox, 'version'>[]>`
    select organization_id, id, address, smtp_host as host, smtp_port as port, smtp_security as security,
      smtp_username as username, smtp_password as password
    from mailboxes m where active and smtp_host is not null and ${mayUseAddress(sql)} order by id desc`
  const ids = rows.map(({ id }) => id)
  const sign_ins = await sql<{ id: string; version: string }[]>`
    select id, version from mailbox_sign_ins where id = any(${ids}::uuid[])`
  const version_of = new Map(sign_ins.map(({ id, version }) => [id, version]))
  const accounts = [
    ...Map.groupBy(
      rows.flatMap((row) => withSecrets(connection, { ...row, version: version_of.get(row.id) ?? null })),
      accountOf,
    ).values(),
  ]
  const inTurn = turns(AT_ONCE)
  const tried = await Promise.all(
    accounts
      .slice(0, MOST)
      .map((mailboxes) =>
        inTurn(async (): Promise<Tried> => ({ mailboxes, why: await tryServer(mailboxes[0]!, sendOptions()) })),
      ),
  )
  const failed = tried.filter(({ why }) => why !== undefined)
  const left = accounts.length - MOST
  const findings = [
    ...Map.groupBy(failed, ({ mailboxes, why }) => `${hostAndPort(mailboxes[0]!)} ${why}`).values(),
  ].map((same) => findingOf(same))
  if (left > 0) findings.push(notTried(left))
  return findings
}

function findingOf(same: Tried[]): Finding {
  const mailboxes = same.flatMap(({ mailboxes }) => mailboxes)
  const addresses = mailboxes.map(({ address }) => address)
  return failure(
    `${hostAndPort(mailboxes[0]!)} cannot be used by ${counted(mailboxes.length, 'mailbox')} (${firstOf(addresses, 3)}): ${same[0]!.why}. Answers wait or fail`,
    'An admin of the organization corrects the SMTP settings of the mailbox. If nothing answers, look at that server and at the firewall.',
    { mailboxes: mailboxes.slice(0, 20).map(({ organization_id, id, address }) => ({ organization_id, id, address })) },
  )
}

function notTried(left: number): Finding {
  const message = `SMTP accounts of mailboxes that were not tried: ${left}. The doctor tries ${MOST}`
  return warning(message, 'Look for failed messages of kind email in the log.')
}

/** @returns why it cannot be used; undefined when it can */
async function tryServer(smtp: MailboxSmtp, options: SendOptions): Promise<string | undefined> {
  const answer = testMailbox(smtp, { ...options, timeouts: TIMEOUTS })
  return within(ANSWER_MS, answer, NO_ANSWER).then(
    ({ error }) => error?.replace(/[.\s]+$/, ''),
    () => NO_ANSWER,
  )
}

/** A mailbox whose password cannot be decrypted is left out: the check of the secrets says so. */
function withSecrets(connection: Connection, row: Mailbox): Mailbox[] {
  const at = { column: 'mailboxes.smtp_password', organization_id: row.organization_id, id: row.id } as const
  try {
    const password = row.password ? decrypt(row.password, at) : null
    return [{ ...row, password, tokens: tokenSource(connection, row) }]
  } catch {
    return []
  }
}

function accountOf({ host, port, security, username, password, version }: Mailbox): string {
  return JSON.stringify([host, port, security, username, password, version])
}

function hostAndPort({ host, port }: MailboxSmtp): string {
  return `${host}:${port}`
}

/** Mail of the service itself needs a way out. */
export async function checkLetterWay({ sql }: Connection): Promise<Finding[]> {
  const [row] = await sql<{ organizations: number; without: number }[]>`
    select count(*) as organizations, count(*) filter (where not exists (
      select from mailboxes m
      where m.organization_id = o.id and is_default and active and ${carriesLetters(sql)} and ${mayUseAddress(sql)}
    )) as without from organizations o`
  const { organizations, without } = row!
  if (config.SYSTEM_SMTP_URL) return []
  if (organizations > 1) {
    return [
      warning(
        'There are several organizations and no SYSTEM_SMTP_URL: invitations leave by their own mailboxes, and people in two of them get no link for a forgotten password',
        'Set SYSTEM_SMTP_URL and SYSTEM_MAIL_FROM.',
      ),
    ]
  }
  if (without === 0) return []
  return [
    warning(
      'Invitations and links for forgotten passwords cannot leave: there is no SYSTEM_SMTP_URL, and no default mailbox with an SMTP server that an admin has set',
      'Set SYSTEM_SMTP_URL and SYSTEM_MAIL_FROM, or make a mailbox with SMTP settings.',
    ),
  ]
}
