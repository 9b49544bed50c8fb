/** Finds the mailbox of a token. */
import type { INLET_PROVIDERS } from '../../base/db/schema'
import type { Sql } from '../../base/db/transact'
import { gathered } from '../../base/flow/gather'
import { decrypt } from '../../base/secrets'
import { mayUseAddress } from '../../desk/messages/mailbox-address'
import { hashToken, isToken } from './token'

/** An inlet that takes mail, with the mailbox that the mail is for. */
export type OpenInlet = {
  organization_id: string
  mailbox_id: string
  mailbox_address: string
  provider: (typeof INLET_PROVIDERS)[number]
  signing_key: string | null
}

/**
 * Finds the inlet of a token; null when there is none, or when its mailbox takes no mail: it is off, or may not use its
 * address. Tokens that come at the same time share a statement, so that guessing costs little.
 */
export async function findInlet(sql: Sql, token: string): Promise<OpenInlet | null> {
  if (!isToken(token)) return null
  const row = await findRow({ sql, hash: hashToken(token).toString('hex') })
  if (!row) return null
  const { id, hash: _, signing_key, ...inlet } = row
  const at = { column: 'inlets.signing_key', organization_id: inlet.organization_id, id } as const
  return { ...inlet, signing_key: signing_key === null ? null : decrypt(signing_key, at) }
}

type Row = OpenInlet & { id: string; hash: string }

const findRow = gathered(async (asked: { sql: Sql; hash: string }[]) => {
  const rows = await readRows(
    asked[0]!.sql,
    asked.map(({ hash }) => hash),
  )
  const found = new Map(rows.map((row) => [row.hash, row]))
  return asked.map(({ hash }) => found.get(hash))
})

/** The organization follows from the token. */
function readRows(sql: Sql, hashes: string[]): Promise<Row[]> {
  return sql<Row[]>`
    select i.organization_id, i.id, i.mailbox_id, m.address as mailbox_address, i.provider, i.signing_key,
      encode(i.token_hash, 'hex') as hash
    from inlets i join mailboxes m on m.organization_id = i.organization_id and m.id = i.mailbox_id
    where i.token_hash = any(array(select decode(each, 'hex') from unnest(${hashes}::text[]) each))
      and (i.ends_at is null or i.ends_at > now()) and m.active and ${mayUseAddress(sql)}`
}
