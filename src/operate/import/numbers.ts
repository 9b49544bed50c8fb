/** Numbers and codes of imported tickets: a free number stays, and the counter of new tickets passes it. */
import type { Scope } from '../../base/scope'
import { passNumber, takeNumbersInside } from '../../desk/tickets/code'
import { batchesOf } from './read-lines'

/** The highest number that is kept. */
const MOST = 9_999_999
const CODE = /^[A-Z][A-Z0-9]{0,9}-\d{1,7}$/

export type Code = { number: number; code: string }

type Asked = { id: string; is_new: boolean; code: string | undefined; company_id: string | null }

/**
 * Gives each ticket its number and its code. A code of another form than ours becomes one of ours with its number.
 * Those of tickets that are there stay.
 */
export async function codesFor(scope: Scope, asked: Asked[]): Promise<Code[]> {
  const { sql, organization_id } = scope
  const wanted = asked.map(({ is_new, code }) => (is_new ? numberIn(code) : undefined))
  const [taken, there, prefixes] = [
    await sql<{ number: number }[]>`
      select number from tickets
      where organization_id = ${organization_id} and number = any(${wanted.flatMap((one) => one ?? [])}::integer[])`,
    await sql<(Code & { id: string })[]>`
      select id, number, code from tickets
      where organization_id = ${organization_id}
        and id = any(${asked.filter(({ is_new }) => !is_new).map(({ id }) => id)}::uuid[])`,
    await prefixesOf(
      scope,
      asked.flatMap(({ company_id }) => company_id ?? []),
    ),
  ]
  const used = new Set(taken.map(({ number }) => number))
  const kept = wanted.map((number) => {
    if (number === undefined || used.has(number)) return undefined
    used.add(number)
    return number
  })
  const highest = Math.max(0, ...kept.flatMap((number) => number ?? []))
  if (highest > 0) await passNumber(organization_id, highest)
  const missing = asked.filter(({ is_new }, at) => is_new && kept[at] === undefined).length
  let next = missing > 0 ? await takeNumbersInside(organization_id, missing) : 0
  const own = new Map(there.map(({ id, ...code }) => [id, code]))
  return asked.map(({ id, is_new, code = '', company_id }, at) => {
    if (!is_new) return own.get(id)!
    const number = kept[at] ?? next++
    const stays = kept[at] !== undefined && CODE.test(code)
    return { number, code: stays ? code : `${prefixes.get(company_id ?? '') ?? prefixes.get('')!}-${number}` }
  })
}

/** Lines that are looked at together. */
const LINES = 1000

/**
 * Makes the counter pass all numbers of a file before its tickets come: none of them is given to a new ticket, or to
 * one of the file whose own number is taken.
 */
export async function passNumbersOf(file: string, organization_id: string): Promise<void> {
  let highest = 0
  for await (const lines of batchesOf(file, LINES)) {
    for (const { text = '' } of lines) highest = Math.max(highest, numberIn(codeIn(text)) ?? 0)
  }
  if (highest > 0) await passNumber(organization_id, highest)
}

function codeIn(line: string): string {
  try {
    const { code } = JSON.parse(line) as { code?: unknown }
    return typeof code === 'string' ? code : ''
  } catch {
    return ''
  }
}

/** The number at the end of a code. */
export function numberIn(code = ''): number | undefined {
  const number = Number(/(\d{1,7})$/.exec(code.trim())?.[1] ?? 0)
  const is_whole = !/\d{8}$/.test(code.trim())
  return is_whole && number >= 1 && number <= MOST ? number : undefined
}

/** The prefixes of companies by their ids, and that of the organization by the empty text. */
async function prefixesOf({ sql, organization_id }: Scope, company_ids: string[]): Promise<Map<string, string>> {
  const rows = await sql<{ id: string; prefix: string | null }[]>`
    select '' as id, ticket_prefix as prefix from organizations where id = ${organization_id}
    union all
    select id::text, ticket_prefix from companies
    where organization_id = ${organization_id} and id = any(${company_ids}::uuid[])`
  return new Map(rows.flatMap(({ id, prefix }) => (prefix === null ? [] : [[id, prefix] as const])))
}
