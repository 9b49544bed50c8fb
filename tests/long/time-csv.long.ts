/**
 * A month of time in three zones and three currencies: days, amounts and totals are those of a plain computation, and
 * LibreOffice reads the same numbers in the CSV files.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { TimeEntry } from '../../src/desk/time-entries/model'
import { type Client, createOrganization, type Organization, startApi, stopApi } from '../support/api'
import { createCompany, insertTicketOf } from '../support/factories'
import {
  CURRENCIES,
  type Currency,
  DECIMALS,
  plainAmount,
  plainText,
  sumsOfTotals,
  thousandths,
} from '../support/plain-time'

const SOFFICE = Bun.which('soffice')
if (!SOFFICE) console.log('skipped: LibreOffice Calc is not installed (libreoffice-calc)')

const HOUR_MS = 3_600_000
/** In Europe clocks are set back at this moment. */
const WINTER_MS = Date.parse('2025-10-26T01:00:00Z')
const MONTH = { from_ms: Date.parse('2025-10-01T00:00:00Z'), days: 31 }

/** Zones of organizations, with what their clocks are ahead of UTC in that month. */
const ZONES: Record<string, (at_ms: number) => number> = {
  'Pacific/Kiritimati': () => 14 * HOUR_MS,
  'Europe/Berlin': (at_ms) => (at_ms < WINTER_MS ? 2 : 1) * HOUR_MS,
  'America/St_Johns': () => -2.5 * HOUR_MS,
}

type Entry = { at_ms: number; minutes: number; rate: number; currency: Currency; date: string }

let folder: string

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'time-csv-'))
  await startApi()
})
afterAll(async () => {
  await stopApi()
  rmSync(folder, { recursive: true, force: true })
})

test.each(Object.keys(ZONES))(
  'a month of timers in %s',
  async (zone) => {
    const desk = await createOrganization()
    expect((await desk.admin.patch('/organization', { time_zone: zone })).status).toBe(200)
    const entries = await logMonth(desk, zone)
    const { agent } = desk
    const shown = await allEntries(agent)
    expect(shown).toEqual(inOrder(entries).map(shownAs))
    const query = 'date_from=2025-10-05&date_to=2025-10-26'
    const within = entries.filter(({ date }) => date >= '2025-10-05' && date <= '2025-10-26')
    expect(within.length).toBeGreaterThan(50)
    for (const [rest, own] of [
      ['', entries],
      [`&${query}`, within],
    ] as const) {
      const { total, totals } = (await agent.get(`/time-entries?per_page=1${rest}`)).body.meta
      expect([total, totals.duration_minutes]).toEqual([own.length, own.reduce((sum, { minutes }) => sum + minutes, 0)])
      expect(sumsOfTotals(totals.by_currency)).toEqual(sumsOf(own))
      const days = (await agent.get(`/time-entries/summary?group_by=day${rest}`)).body.data
      const byDay = days.map((one: { day: string; currency: string; total_amount: number }) => [
        `${one.day} ${one.currency}`,
        thousandths(one.total_amount),
      ])
      expect(Object.fromEntries(byDay)).toEqual(sumsOf(own, ({ date, currency }) => `${date} ${currency}`))
    }
    for (const form of ['', '?delimiter=semicolon&decimal=comma&bom=true', '?delimiter=tab&decimal=comma']) {
      const file = await agent.get(`/time-entries/export${form}`)
      expect(file.status).toBe(200)
      if (SOFFICE) await expectOpened(SOFFICE, file.text, form, inOrder(entries))
    }
  },
  180_000,
)

/** Stops timers that were started all over the month, near the ends of days too. */
async function logMonth({ agent, scope }: Organization, zone: string): Promise<Entry[]> {
  const { sql, organization_id } = scope
  const tickets = {} as Record<Currency, string>
  for (const currency of CURRENCIES) {
    const company = await createCompany(agent, { currency })
    tickets[currency] = (await insertTicketOf(scope, { company_id: company.id })).id
  }
  const entries: Entry[] = []
  for (let n = 0; n < 90; n++) {
    const currency = CURRENCIES[n % 3]!
    // Seconds before and after each hour of the day, in turn.
    const at_ms =
      MONTH.from_ms +
      Math.floor((n * MONTH.days) / 90) * 24 * HOUR_MS +
      (n % 48) * (HOUR_MS / 2) +
      (n % 2 ? -1000 : 1000)
    const decimals = Math.max(2, DECIMALS[currency])
    const rate = Number((((n * 7919) % 10_007) / 83 + 1).toFixed(decimals))
    const started = await agent.post(`/tickets/${tickets[currency]}/timer/start`, { rate })
    expect(started.status).toBe(201)
    const moment = new Date(at_ms).toISOString()
    await sql`update timers set started_at = ${moment} where organization_id = ${organization_id}`
    const stopped = (await agent.post(`/tickets/${tickets[currency]}/timer/stop`, {})).body.data
    const minutes = 1 + ((n * 37) % 500)
    expect((await agent.patch(`/time-entries/${stopped.id}`, { duration_minutes: minutes })).status).toBe(200)
    const date = new Date(at_ms + ZONES[zone]!(at_ms)).toISOString().slice(0, 10)
    entries.push({ at_ms, minutes, rate, currency, date })
  }
  return entries
}

/** The latest day first, of one day what was logged last. */
function inOrder(entries: Entry[]): Entry[] {
  return entries.toReversed().toSorted((a, b) => (a.date === b.date ? 0 : a.date < b.date ? 1 : -1))
}

const shownAs = ({ date, minutes, rate, currency }: Entry) => {
  return { date, minutes, rate, currency, amount: plainAmount(minutes, rate, currency) }
}

async function allEntries(agent: Client) {
  const { data } = (await agent.get('/time-entries?per_page=100')).body
  return data.map(({ date, duration_minutes: minutes, rate, currency, amount }: TimeEntry) => {
    return { date, minutes, rate, currency, amount: thousandths(amount!) }
  })
}

function sumsOf(entries: Entry[], keyOf = ({ currency }: Entry): string => currency): Record<string, bigint> {
  const sums: Record<string, bigint> = {}
  for (const entry of entries) {
    const { minutes, rate, currency } = entry
    sums[keyOf(entry)] = (sums[keyOf(entry)] ?? 0n) + plainAmount(minutes, rate, currency)
  }
  return sums
}

/** Opens a file as a spreadsheet in the language of its form, and compares the cells as they are kept there. */
async function expectOpened(soffice: string, text: string, form: string, entries: Entry[]): Promise<void> {
  const has_comma = form.includes('decimal=comma')
  const delimiter = form.includes('tab') ? 9 : form.includes('semicolon') ? 59 : 44
  const csv = path.join(folder, 'time.csv')
  writeFileSync(csv, `${form.includes('bom=true') ? '\uFEFF' : ''}${text.replace(/^\uFEFF/, '')}`)
  // Separator, quote, UTF-8, first line, no formats of columns, the language of numbers: German (1031), English (1033).
  const filter = `CSV:${delimiter},34,76,1,,${has_comma ? 1031 : 1033},false,true`
  const run = Bun.spawn(
    [
      ...[soffice, '--headless', `-env:UserInstallation=file://${folder}/profile`, `--infilter=${filter}`],
      ...['--convert-to', 'fods', '--outdir', folder, csv],
    ],
    { stdout: 'pipe', stderr: 'pipe' },
  )
  expect([await run.exited, await new Response(run.stderr).text()]).toEqual([0, expect.any(String)])
  const [head, ...rows] = cellsOf(readFileSync(path.join(folder, 'time.fods'), 'utf8'))
  const at = (name: string) => head!.findIndex(({ text }) => text === name)
  expect(rows).toHaveLength(entries.length)
  const [date, duration, rate, amount, currency] = ['Date', 'Duration', 'Rate', 'Amount', 'Currency'].map(at)
  const opened = rows.map((row) => ({
    date: row[date!]!.value,
    minutes: Number(row[duration!]!.value),
    rate: Number(row[rate!]!.value),
    amount: thousandths(Number(row[amount!]!.value)),
    currency: row[currency!]!.text,
  }))
  expect(opened).toEqual(entries.map(shownAs) as never)
  const shown = entries.map(({ minutes, rate, currency }) =>
    plainText(plainAmount(minutes, rate, currency), DECIMALS[currency]),
  )
  const lines = text
    .replace(/^\uFEFF/, '')
    .trimEnd()
    .split('\r\n')
    .slice(1)
  const cut = lines.map((line) =>
    line
      .split(form.includes('tab') ? '\t' : has_comma ? ';' : ',')
      .at(-2)!
      .replace(',', '.'),
  )
  expect(cut).toEqual(shown)
}

type Cell = { text: string; value: string }

/** The cells of a flat document: the value that a number or a day is kept as, else the text. */
function cellsOf(xml: string): Cell[][] {
  return [...xml.matchAll(/<table:table-row\b[^>]*>(.*?)<\/table:table-row>/gs)]
    .map(([, row]) =>
      [...row!.matchAll(/<table:table-cell\b([^>]*?)(?:\/>|>(.*?)<\/table:table-cell>)/gs)].flatMap(
        ([, given, inner = '']) => {
          const text = inner.replace(/<[^>]*>/g, '').trim()
          const value = /office:(?:date-)?value="([^"]*)"/.exec(given!)?.[1] ?? text
          const times = Number(/table:number-columns-repeated="(\d+)"/.exec(given!)?.[1] ?? 1)
          return times > 50 ? [] : Array.from({ length: times }, () => ({ text, value }))
        },
      ),
    )
    .filter((row) => row.some(({ text }) => text !== ''))
}
