/** Finds what needs the attention of an organization's admins. `doctor` finds what needs that of the operator. */
import { sharedTime } from '../../base/db/shared-time'
import type { Scope } from '../../base/scope'
import type { Stats } from './model'

type Finding = Stats['findings'][number]
type Waiting = Stats['waiting']

/** Work that has been due for so long is stuck: it is begun within seconds. */
const STUCK_MS = 120_000

type Facts = {
  mailboxes: number
  failed_webhooks: string[]
  retried_emails: number
  failed_emails: number
  bounced_emails: number
  unparsed: number
}

/** The matters that need attention, errors first. */
export async function findingsOf(scope: Scope, waiting: Waiting): Promise<Finding[]> {
  const facts = await readFacts(scope)
  const found = [...stuck(waiting), ...ofFacts(facts, waiting)]
  return found.sort((one, other) => Number(one.level === 'warning') - Number(other.level === 'warning'))
}

function stuck({ inbound, email, webhooks }: Waiting): Finding[] {
  const late = { 'Inbound email': inbound, 'Outbound email': email, 'Webhook deliveries': webhooks }
  return Object.entries(late).flatMap(([what, { count, oldest_at }]) =>
    oldest_at && sharedTime() - Date.parse(oldest_at) > STUCK_MS
      ? [
          {
            level: 'error' as const,
            message: `${what} has been waiting since ${oldest_at} (${count}).`,
            action: 'Ask the operator to run the command doctor.',
          },
        ]
      : [],
  )
}

function ofFacts(facts: Facts, { held }: Waiting): Finding[] {
  const { mailboxes, failed_webhooks, retried_emails, failed_emails, bounced_emails, unparsed } = facts
  const found: (Finding | false)[] = [
    mailboxes === 0 && {
      level: 'warning',
      message: 'There is no active mailbox: no email comes in or goes out.',
      action: 'Add a mailbox.',
    },
    ...failed_webhooks.map(
      (host): Finding => ({
        level: 'error',
        message: `The webhook to ${host} has failed. ${held.count} deliveries wait.`,
        action: 'Look at its deliveries, mend the receiver, and enable the webhook again.',
      }),
    ),
    retried_emails > 0 && {
      level: 'warning',
      message: `${retried_emails === 1 ? '1 email was' : `${retried_emails} emails were`} not taken by the server, and will be tried again.`,
      action: 'Test the mailbox, and look at the error in the ticket.',
    },
    failed_emails > 0 && {
      level: 'error',
      message: `${failed_emails} emails of the last 24 hours could not be sent.`,
      action: 'Test the mailbox, and look at the error in the ticket.',
    },
    bounced_emails > 0 && {
      level: 'warning',
      message: `${bounced_emails} emails of the last 24 hours came back.`,
      action: 'Check the addresses: the reason is a note in the ticket.',
    },
    unparsed > 0 && {
      level: 'warning',
      message: `${unparsed} emails of the last 24 hours could not be read.`,
      action: 'Each became a ticket with the original attached.',
    },
  ]
  return found.filter((one) => one !== false)
}

async function readFacts({ sql, organization_id }: Scope): Promise<Facts> {
  const [facts] = await sql<Facts[]>`
    select
      (select count(*) from mailboxes where organization_id = ${organization_id} and active) as mailboxes,
      (
        select coalesce(json_agg(substring(url from '^https://([^/?#]+)') order by id), '[]') from webhooks
        where organization_id = ${organization_id} and active and status = 'failed' and deleted_at is null
      ) as failed_webhooks,
      (
        select count(*) from outbox where organization_id = ${organization_id} and kind = 'email' and attempts > 0
      ) as retried_emails,
      (
        select coalesce(sum(emails_failed), 0)::float8 from stats
        where organization_id = ${organization_id} and size_s = 900 and at > now() - interval '1 day'
      ) as failed_emails,
      (
        select coalesce(sum(emails_bounced), 0)::float8 from stats
        where organization_id = ${organization_id} and size_s = 900 and at > now() - interval '1 day'
      ) as bounced_emails,
      (
        select count(*) from inbound_messages
        where organization_id = ${organization_id} and outcome = 'unparsed' and received_at > now() - interval '1 day'
      ) as unparsed`
  return facts!
}
