/** Finds mail that is not filed yet by its Message-ID, which stands in the original alone until then. */
import { readOfAll } from '../../base/db/all-organizations'
import type { Connection } from '../../base/db/transact'
import { storage } from '../../desk/attachments/storage'
import type { Found } from './story'

/** Originals that are looked into, the newest. More wait only while nothing is filed, which the doctor says. */
const MOST = 200
/** Bytes of an original that are read: the header is among them. */
const HEAD_BYTES = 65_536

/** Finds the mail that waits under a Message-ID. An original that cannot be read is left out. */
export async function findPendingById({ sql }: Pick<Connection, 'sql'>, message_id: string): Promise<Found[]> {
  const waiting = await readOfAll(
    sql,
    (among) => sql<(Found & { storage_key: string })[]>`
      select organization_id, 'mail' as kind, id, storage_key from inbound_messages
      where outcome = 'pending' and storage_key is not null ${among()} order by id desc limit ${MOST}`,
  )
  const has = await Promise.all(waiting.map(({ storage_key }) => isUnder(storage_key, message_id).catch(() => false)))
  return waiting.filter((_, at) => has[at]).map(({ organization_id, kind, id }) => ({ organization_id, kind, id }))
}

async function isUnder(storage_key: string, message_id: string): Promise<boolean> {
  const bytes = await new Response(await storage().open(storage_key, { start: 0, end: HEAD_BYTES - 1 })).bytes()
  const [head = ''] = Buffer.from(bytes)
    .toString('latin1')
    .split(/\r?\n\r?\n/, 1)
  const [, id] = /^message-id:\s*<?([^>\r\n]+?)>?\s*$/im.exec(head.replace(/\r?\n[ \t]+/g, ' ')) ?? []
  return id === message_id
}
