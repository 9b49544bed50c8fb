/** Reads the domains of mailboxes, with the servers that send for them and the keys that sign. */
import type { Connection, Fragment } from '../../base/db/transact'
import { mayUseAddress } from '../../desk/messages/mailbox-address'

/** Domains that are looked at, in the order of their names. */
export const MOST = 200

export type MailDomain = {
  domain: string
  organizations: string[]
  /** Hosts of the servers that its mailboxes send by. */
  servers: string[]
  keys: { organization_id: string; id: string; domain: string; selector: string; encrypted: string }[]
  /** Mailboxes that send without a key. */
  unsigned: number
}

/**
 * Reads them.
 * @param which of `mailboxes m`; all by default
 * @returns one more than `MOST` when there are more
 */
export function readMailDomains({ sql }: Pick<Connection, 'sql'>, which: Fragment = sql`true`): Promise<MailDomain[]> {
  return sql<MailDomain[]>`
    select substring(m.address_key from '[^@]*$') as domain, array_agg(distinct o.name) as organizations,
      coalesce(array_agg(distinct m.smtp_host) filter (where m.smtp_host is not null), '{}') as servers,
      coalesce(json_agg(json_build_object('organization_id', m.organization_id, 'id', m.id, 'domain', m.dkim_domain,
        'selector', m.dkim_selector, 'encrypted', m.dkim_private_key)) filter (where m.dkim_domain is not null), '[]') as keys,
      count(*) filter (where m.smtp_host is not null and m.dkim_domain is null) as unsigned
    from mailboxes m join organizations o on o.id = m.organization_id
    where m.active and ${mayUseAddress(sql)} and ${which} group by 1 order by 1 limit ${MOST + 1}`
}
