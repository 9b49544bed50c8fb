/** Names the mailboxes whose server is at fault, and organizations whose email was given up. */
import { readOfAll } from '../../base/db/all-organizations'
import type { Connection } from '../../base/db/transact'
import { counted, type Finding, failure, firstOf, warning } from './finding'

/** Mailboxes and organizations that are named. */
const TOP = 5

type Fault = {
  organization_id: string
  lane_id: string
  address: string | null
  error: string
  failing_since: string
  waiting: number
}
type Failed = { organization_id: string; failed: number }

/** Looks at what waits for mail servers now, and at emails that failed for good within a day. */
export async function checkMailboxFaults({ sql }: Connection): Promise<Finding[]> {
  const [faults, failed] = await Promise.all([
    readOfAll(
      sql,
      (among) => sql<Fault[]>`
        select f.organization_id, f.lane_id, m.address, f.error, f.failing_since, (
          select count(*) from outbox o where o.organization_id = f.organization_id and o.lane_id = f.lane_id
        ) as waiting
        from lane_faults f left join mailboxes m on m.organization_id = f.organization_id and m.id = f.lane_id
        where true ${among(sql`f.organization_id`)}`,
    ),
    readOfAll(
      sql,
      (among) => sql<Failed[]>`
        select organization_id, sum(emails_failed)::integer as failed from stats
        where size_s = 900 and at > now() - interval '1 day' and emails_failed > 0 ${among()}
        group by organization_id`,
    ),
  ])
  const waiting = faults.filter((one) => one.waiting > 0).toSorted((a, b) => b.waiting - a.waiting)
  return [...(waiting.length > 0 ? [faultFinding(waiting)] : []), ...(failed.length > 0 ? [failedFinding(failed)] : [])]
}

function faultFinding(faults: Fault[]): Finding {
  const names = faults.map(({ organization_id, address, error, failing_since, waiting }) => {
    return `${address ?? `letters of ${organization_id}`}: ${waiting} waiting since ${failing_since}, ${error}`
  })
  return failure(
    `${counted(faults.length, 'mail server')} cannot be used, and email waits for EMAIL_GIVE_UP_SECONDS at most (${firstOf(names, TOP)})`,
    'Mend the server or the SMTP settings of the mailbox, then call POST /mailboxes/:id/test: all that waits leaves.',
    { mailboxes: faults.slice(0, 20) },
  )
}

function failedFinding(failed: Failed[]): Finding {
  const most = failed.toSorted((a, b) => b.failed - a.failed)
  const total = failed.reduce((sum, one) => sum + one.failed, 0)
  const names = most.map((one) => `organization ${one.organization_id}: ${one.failed}`)
  return warning(
    `Emails were given up within a day for ${counted(total, 'recipient')} (${firstOf(names, TOP)})`,
    'The messages with `email_status: failed` say why. Mend it, then send them again: POST /tickets/:id/messages/:id/resend.',
    { organizations: most.slice(0, 20) },
  )
}
