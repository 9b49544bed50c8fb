/** Writes tickets with a history of events, and computes plainly what a report of them must say. */
import { newId } from '../../src/base/db/columns'
import { insertRows } from '../../src/base/db/insert-rows'
import { TICKET_PRIORITIES } from '../../src/base/db/schema'
import { inTransaction, type Scope } from '../../src/base/scope'
import { dayIn } from '../../src/base/shapes/time'
import type { ReportRow } from '../../src/desk/reports/model'
import { type Random, startRandom } from '../bench/volume/random'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const OVER = ['resolved', 'closed']

type Fact = {
  kind: 'created' | 'replied' | 'resolved' | 'reopened' | 'good' | 'bad'
  at_ms: number
  seconds?: number
  user_id?: string | null
}

export type Past = {
  id: string
  user: string | null
  team: string | null
  mailbox: string | null
  company: string | null
  priority: string
  labels: string[]
  status: string
  facts: Fact[]
}

/** The groups that tickets are put into. */
export type Groups = Record<'users' | 'teams' | 'mailboxes' | 'companies' | 'labels', string[]>

/** Makes rows that tickets are grouped by. @param users members of the organization */
export async function createGroups(scope: Scope, users: string[]): Promise<Groups> {
  const { sql, organization_id } = scope
  const made = async (table: string, rows: Record<string, string>[]) => {
    const full = rows.map((row) => ({ organization_id, id: newId(), ...row }))
    await insertRows(sql, table, full)
    return full.map(({ id }) => id)
  }
  const names = ['One', 'Two', 'Three']
  return {
    users,
    teams: await made(
      'teams',
      names.map((name) => ({ name })),
    ),
    mailboxes: await made(
      'mailboxes',
      names.map((name) => ({
        name,
        address: `${name}.${organization_id}@x.example`,
        address_key: `${name}@${organization_id}`,
      })),
    ),
    companies: await made(
      'companies',
      names.map((name) => ({ name })),
    ),
    labels: await made(
      'labels',
      names.map((name) => ({ name, color: '#000000' })),
    ),
  }
}

/**
 * Writes tickets that came between two moments, each with replies and changes of status, the same ones in each run.
 * @returns what happened to them
 */
export async function createHistory(
  scope: Scope,
  groups: Groups,
  { tickets, from_ms, to_ms }: { tickets: number; from_ms: number; to_ms: number },
): Promise<Past[]> {
  const random = startRandom()
  const past = Array.from({ length: tickets }, () => pastOf(random, groups, from_ms + random.below(to_ms - from_ms)))
  await inTransaction(scope, (scope) => writePast(scope, random, past))
  return past
}

async function writePast({ sql, organization_id }: Scope, random: Random, past: Past[]): Promise<void> {
  const numbered = past.map((one, at) => ({ ...one, number: at + 1 }))
  const time = (at_ms: number) => new Date(at_ms).toISOString()
  for (let start = 0; start < numbered.length; start += 1024) {
    const part = numbered.slice(start, start + 1024)
    const row = ({ id, number, user, team, mailbox, company, priority, facts }: (typeof part)[number]) => ({
      ...{ organization_id, id, number, code: `T-${number}`, subject: 'x', status: 'open', priority },
      ...{ assignee_id: user, team_id: team, mailbox_id: mailbox, company_id: company },
      updated_at: time(facts[0]!.at_ms),
    })
    await insertRows(sql, 'tickets', part.map(row))
    const labels = part.flatMap(({ id, labels }) =>
      labels.map((label_id) => ({ organization_id, ticket_id: id, label_id })),
    )
    await insertRows(sql, 'ticket_labels', labels)
    const messages = part.flatMap(({ id: ticket_id, facts }) =>
      facts.flatMap(({ kind, at_ms, user_id }) =>
        kind === 'replied' ? [reply(random, ticket_id, at_ms, user_id)] : [],
      ),
    )
    await insertRows(
      sql,
      'messages',
      messages.map((message) => ({ organization_id, ...message })),
    )
    await changeStatus(part)
  }

  /** Makes the nth change of each ticket by one statement. */
  async function changeStatus(part: Past[]): Promise<void> {
    const changes = part.map(({ id, facts }) =>
      facts.flatMap(({ kind, at_ms }) => (kind === 'resolved' || kind === 'reopened' ? [{ id, kind, at_ms }] : [])),
    )
    for (let round = 0; changes.some((own) => own.length > round); round++) {
      const given = changes
        .flatMap((own) => own[round] ?? [])
        .map(({ id, kind, at_ms }, at) => ({
          id,
          status: kind === 'reopened' ? ['open', 'pending'][at % 2] : OVER[at % 2],
          at: time(at_ms),
        }))
      await sql`
        with given as materialized (
          select * from json_to_recordset(${JSON.stringify(given)}::text::json) as x (id uuid, status text, at timestamptz)
        )
        update tickets t set status = given.status, updated_at = given.at
        from given where t.organization_id = ${organization_id} and t.id = given.id`
    }
  }
}

function reply(random: Random, ticket_id: string, at_ms: number, author_id: string | null = null) {
  return {
    ...{ id: random.idAt(at_ms), ticket_id, author_id, body: 'x', body_html: 'x', format: 'text' },
    ...{ direction: 'outbound', sender_name: 'x' },
  }
}

function pastOf(random: Random, groups: Groups, created_ms: number): Past {
  const some = (ids: string[]) => (random.chance(0.8) ? random.pick(ids) : null)
  const facts: Fact[] = [{ kind: 'created', at_ms: created_ms }]
  const secondsTo = (at_ms: number) => Math.floor(at_ms / 1000) - Math.floor(created_ms / 1000)
  let at_ms = created_ms
  let is_over = false
  for (let steps = random.below(7); steps > 0; steps--) {
    at_ms += 1 + random.below(5 * DAY_MS)
    if (random.chance(0.4)) {
      const first = facts.some(({ kind }) => kind === 'replied') ? {} : { seconds: secondsTo(at_ms) }
      facts.push({ kind: 'replied', at_ms, user_id: some(groups.users), ...first })
    } else if (is_over) facts.push({ kind: 'reopened', at_ms })
    else facts.push({ kind: 'resolved', at_ms, seconds: secondsTo(at_ms) })
    is_over = ['resolved', 'reopened'].includes(facts.at(-1)!.kind) ? facts.at(-1)!.kind === 'resolved' : is_over
  }
  return {
    ...{ id: random.idAt(created_ms), user: some(groups.users), team: some(groups.teams) },
    ...{ mailbox: some(groups.mailboxes), company: some(groups.companies), priority: random.pick(TICKET_PRIORITIES) },
    labels: groups.labels.filter(() => random.chance(0.4)),
    status: is_over ? 'closed' : 'open',
    facts,
  }
}

type Group = 'day' | 'week' | 'user' | 'team' | 'mailbox' | 'label' | 'company' | 'priority'

const byKey = (one: { key: string | null }, other: { key: string | null }) =>
  String(one.key) < String(other.key) ? -1 : 1

/** The rows of a report by the keys of their groups, without what `plainReport` does not know. */
export function figuresOf(rows: ReportRow[], group_by: Group) {
  const figures = rows.map(({ sla: _, ratings: __, ...row }) => {
    const { [group_by]: group, ...rest } = row
    return { key: (typeof group === 'object' ? group?.id : group) ?? null, ...rest }
  })
  return figures.toSorted(byKey)
}

/** Computes what a report must say, by the keys of its groups. A group of which there is nothing to say is left out. */
export function plainReport(past: Past[], time_zone: string, from: string, to: string, group_by: Group) {
  const days = daysBetween(from, to)
  const keys: (string | null)[] =
    group_by === 'day'
      ? days
      : group_by === 'week'
        ? [...new Set(days.map(mondayOf))]
        : [
            ...new Set(
              past.flatMap((one) => [...keysOf(one, group_by), ...(group_by === 'user' ? sendersOf(one) : [])]),
            ),
          ]
  const day = dayFinder(time_zone)
  const rows = keys.map((key) => {
    const is_time = group_by === 'day' || group_by === 'week'
    const own = is_time ? past : past.filter((one) => keysOf(one, group_by).includes(key))
    const spanned = days.filter((day) => !is_time || (group_by === 'day' ? day : mondayOf(day)) === key)
    const span = new Set(spanned)
    const inSpan = (one: Past) => one.facts.filter(({ at_ms }) => span.has(day(at_ms)))
    const facts = own.flatMap(inSpan)
    const replies = (group_by === 'user' ? past.flatMap(inSpan) : facts).filter(
      ({ kind, user_id = null }) => kind === 'replied' && (group_by !== 'user' || user_id === key),
    )
    const count = (kind: Fact['kind']) => facts.filter((fact) => fact.kind === kind).length
    const minutes = (kind: Fact['kind']) =>
      spread(facts.flatMap((fact) => (fact.kind === kind && fact.seconds !== undefined ? [fact.seconds] : [])))
    const last = spanned.at(-1)!
    const isOpen = ({ facts }: Past) => {
      const before = facts.filter(({ kind, at_ms }) => kind !== 'replied' && day(at_ms) <= last)
      return before.length > 0 && before.at(-1)!.kind !== 'resolved'
    }
    return {
      key,
      created: count('created'),
      resolved: count('resolved'),
      reopened: count('reopened'),
      replies: replies.length,
      backlog: own.filter(isOpen).length,
      first_reply_minutes: minutes('replied'),
      resolve_minutes: minutes('resolved'),
    }
  })
  const is_full = ['day', 'week', 'priority'].includes(group_by)
  const told = rows.filter(({ key: _, first_reply_minutes: __, resolve_minutes: ___, ...counts }) => {
    return is_full || Object.values(counts).some((value) => value > 0)
  })
  return told.toSorted(byKey)
}

function keysOf(one: Past, group_by: Group): (string | null)[] {
  if (group_by === 'label') return one.labels.length > 0 ? one.labels : [null]
  return group_by === 'day' || group_by === 'week' ? [] : [one[group_by]]
}

function sendersOf({ facts }: Past): (string | null)[] {
  return facts.flatMap(({ kind, user_id = null }) => (kind === 'replied' ? user_id : []))
}

/** Remembers the days of moments: to find one takes long. */
function dayFinder(time_zone: string): (at_ms: number) => string {
  const known = new Map<number, string>()
  return (at_ms) => {
    // No zone changes its clock within a quarter of an hour.
    const quarter = Math.floor(at_ms / 900_000)
    const day = known.get(quarter) ?? dayIn(time_zone, quarter * 900_000)
    known.set(quarter, day)
    return day
  }
}

function daysBetween(from: string, to: string): string[] {
  const days = []
  for (let at = Date.parse(from); at <= Date.parse(to); at += DAY_MS) days.push(new Date(at).toISOString().slice(0, 10))
  return days
}

function mondayOf(day: string): string {
  for (let at = Date.parse(day); ; at -= DAY_MS) {
    if (new Date(at).getUTCDay() === 1) return new Date(at).toISOString().slice(0, 10)
  }
}

/** Median and 90th percentile between the neighbouring values, in minutes. */
function spread(seconds: number[]): { median: number | null; p90: number | null } {
  const sorted = seconds.toSorted((a, b) => a - b)
  const at = (share: number) => {
    if (sorted.length === 0) return null
    const place = share * (sorted.length - 1)
    const [low, high] = [sorted[Math.floor(place)]!, sorted[Math.ceil(place)]!]
    return Math.round(((low + (high - low) * (place - Math.floor(place))) / 60) * 100) / 100
  }
  return { median: at(0.5), p90: at(0.9) }
}
