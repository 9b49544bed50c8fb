/** Compares what tickets keep of their messages with a plain look at all of these. */
import { expect } from 'bun:test'
import type { Scope } from '../../src/base/scope'

type Message = {
  id: string
  ticket_id: string
  is_internal: boolean
  direction: 'inbound' | 'outbound' | null
  auto_reply: boolean
  files: number
}

/** Expects the columns of all shown tickets of the organization to be as their messages are. */
export async function expectTurns({ sql, organization_id }: Pick<Scope, 'sql' | 'organization_id'>): Promise<void> {
  const kept = await sql<{ id: string }[]>`
    select id, last_message_id, waiting_message_id, message_count, attachment_count from tickets
    where organization_id = ${organization_id} and deleted_at is null order by id`
  const messages = await sql<Message[]>`
    select m.id, m.ticket_id, m.is_internal, m.direction, m.auto_reply, (
      select count(*)::int from attachments a where a.organization_id = ${organization_id} and a.message_id = m.id
    ) as files
    from messages m where m.organization_id = ${organization_id} order by m.id`
  const expected = kept.map(({ id }) => {
    const own = messages.filter(({ ticket_id }) => ticket_id === id)
    const open = own.filter(({ is_internal }) => !is_internal)
    const asking = open.slice(open.findLastIndex(({ direction }) => direction === 'outbound') + 1)
    return {
      id,
      last_message_id: open.at(-1)?.id ?? null,
      waiting_message_id: asking.find(({ auto_reply }) => !auto_reply)?.id ?? null,
      message_count: open.length,
      attachment_count: own.reduce((sum, { files }) => sum + files, 0),
    }
  })
  expect([...kept] as unknown).toEqual(expected)
}
