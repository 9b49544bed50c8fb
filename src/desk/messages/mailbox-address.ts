/** Tells in SQL whether a mailbox may use its address: tickets ask it before they send, mail when it comes and goes. */
import { config } from '../../base/config'
import type { Fragment, Sql } from '../../base/db/transact'

/** SQL: the domain of mailbox `m` is verified as the organization's. A subdomain is verified by itself. */
export function isVerified(sql: Sql): Fragment {
  return sql`exists (
    select 1 from domains d
    where d.organization_id = m.organization_id and d.domain = substring(m.address_key from '[^@]*$')
      and d.verified_at is not null
  )`
}

/** SQL: mailbox `m` may receive and send, if it is active: it has its address, and passes MAILBOX_DOMAIN_CHECK. */
export function mayUseAddress(sql: Sql): Fragment {
  return sql`(m.has_address and (${config.MAILBOX_DOMAIN_CHECK === 'off'} or ${isVerified(sql)}))`
}
