/**
 * Gathers what members are told of tickets by mail, in the transaction of the change. A letter takes news until an
 * attempt to send it closes it (`mail/letters`). The first of a ticket is due at once, the next one a while after it.
 */
import { config } from '../../base/config'
import { newId, ZERO_ID } from '../../base/db/columns'
import { insertRows } from '../../base/db/insert-rows'
import type { Fragment, Sql } from '../../base/db/transact'
import type { Scope } from '../../base/scope'
import { personId, rolesThatMay } from '../../http/request/permissions'
import { scheduleAll } from '../outbox/schedule'
import type { News } from './news'

/** News of one letter: what is more says nothing new. */
const MOST = 20
/** A letter that could not leave for so long says nothing new. */
const VALID_S = 86_400

/** SQL for the `Readers` of an organization. */
export function readersIn(sql: Sql, organization_id: Fragment): Fragment {
  return sql`json_build_object('any', exists (
    select from memberships r where r.organization_id = ${organization_id} and r.notify <> '{}'
  ), 'of_unassigned', exists (
    select from memberships r where r.organization_id = ${organization_id} and 'new_unassigned' = any(r.notify)
  ))`
}

/** A member and a ticket, with what is new there. */
type Told = { member_id: string; about_id: string; news: object[]; run_at: string }

/** Adds news to the letters of the active members who want them. Whoever did it is not told. */
export async function tellMembers(scope: Scope, news: News[]): Promise<void> {
  if (news.length === 0) return
  const { sql, organization_id } = scope
  const told = await findTold(scope, news)
  if (told.length === 0) return
  const rows = told.map(({ member_id, about_id, news }) => {
    const expires_at = sql`now() + make_interval(secs => ${VALID_S})`
    return { organization_id, id: newId(), about_id, member_id, news: JSON.stringify(news), expires_at }
  })
  const open = await insertRows<{ id: string }>(
    sql,
    'letters',
    rows,
    sql`on conflict (organization_id, member_id, about_id) where closed_at is null do update
      set expires_at = excluded.expires_at, news = case
        when jsonb_array_length(letters.news) < ${MOST} then letters.news || excluded.news else letters.news
      end
      returning id`,
  )
  const ids = new Set(open.map(({ id }) => id))
  const work = rows.map(({ id }, place) => ({ id, run_at: told[place]!.run_at })).filter(({ id }) => ids.has(id))
  if (work.length > 0) await scheduleAll(scope, 'letter', organization_id, work)
}

/** Finds the members who are told news, in one order, so that two transactions never wait for each other. */
function findTold({ sql, organization_id }: Scope, news: News[]): Promise<Told[]> {
  const given = news.map((one, place) => ({ place, ...one }))
  return sql<Told[]>`
    with given as materialized (
      select * from json_to_recordset(${JSON.stringify(given)}::text::json) as x (place integer, reason text,
        ticket_id uuid, message_id uuid, user_id uuid, by_id uuid, by_key text, is_automatic boolean)
    )
    select m.user_id as member_id, g.ticket_id as about_id,
      json_agg(json_build_object('reason', g.reason, 'message_id', g.message_id) order by g.place) as news,
      greatest(now(), (
        select max(l.closed_at) from letters l
        where l.organization_id = ${organization_id} and l.member_id = m.user_id and l.about_id = g.ticket_id
      ) + make_interval(secs => ${config.NOTIFY_GROUP_SECONDS}))::text as run_at
    from given g
    join tickets t on t.organization_id = ${organization_id} and t.id = g.ticket_id and t.deleted_at is null
    join memberships m on m.organization_id = ${organization_id} and m.active and m.removed_at is null
      and g.reason = any(m.notify) and m.user_id is distinct from g.by_id and case g.reason
        when 'new_unassigned' then true
        when 'reply_on_mine' then m.user_id = coalesce(t.assignee_id, ${ZERO_ID})
        else m.user_id = g.user_id
      end
    join users u on u.id = m.user_id and u.email_key is distinct from g.by_key
    left join team_members tm on tm.organization_id = ${organization_id}
      and tm.team_id = coalesce(t.team_id, ${ZERO_ID}) and tm.user_id = m.user_id
    where (g.reason <> 'new_unassigned' or t.team_id is null or tm.user_id is not null) and not (g.is_automatic and exists (
      select from users w join memberships wm on wm.user_id = w.id
      where wm.organization_id = ${organization_id} and wm.removed_at is null and w.email_key = g.by_key
    ))
    group by m.user_id, g.ticket_id order by m.user_id, g.ticket_id`
}

/** Tells the authors of drafts that could not be sent, or the admins once an author is no active member. */
export async function tellAuthors(scope: Scope, kept: { ticket_id: string; author_id: string }[]): Promise<void> {
  if (kept.length === 0) return
  const { sql, organization_id } = scope
  const told = await sql<{ ticket_id: string; user_id: string }[]>`
    select k.ticket_id, m.user_id
    from json_to_recordset(${JSON.stringify(kept)}::text::json) as k (ticket_id uuid, author_id uuid)
    join memberships m on m.organization_id = ${organization_id} and m.active and m.removed_at is null
      and 'draft_kept' = any(m.notify)
      and (m.user_id = k.author_id or m.role = any(${rolesThatMay('users:write')}::text[]) and not exists (
        select from memberships a
        where a.organization_id = ${organization_id} and a.user_id = k.author_id and a.active and a.removed_at is null
      ))`
  const by = { by_id: personId(scope), by_key: null, is_automatic: false }
  const news = told.map((one) => ({ reason: 'draft_kept' as const, message_id: null, ...one, ...by }))
  await tellMembers(scope, news)
}

/** Removes the letters about tickets that wait. */
export async function dropLetters({ sql, organization_id }: Scope, ticket_ids: string[]): Promise<void> {
  await sql`
    delete from letters where organization_id = ${organization_id} and about_id = any(${ticket_ids}::uuid[])`
}
