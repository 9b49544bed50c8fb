/** The number of statements of the transaction that files a set does not grow with the set, except by large inserts. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import type { SmtpListener } from '../../../src/mail/smtp/listener'
import { stopApi } from '../../support/api'
import { createDesk, type Desk } from '../../support/desk'
import { hearEvents } from '../../support/factories'
import { fileAsSet, ledgerOf, rawMail, startListener } from '../../support/mail'
import { sendMail } from '../../support/smtp'
import { type StatementCounter, startCountedApi } from '../../support/statement-counter'

const MANY = 20

let counter: StatementCounter
let listener: SmtpListener

beforeAll(async () => {
  counter = await startCountedApi(4)
  listener = await startListener()
})
afterAll(async () => {
  await listener.close({ timeout_ms: 1000 })
  await stopApi()
  counter.stop()
})

/** Takes a message, and gives its Message-ID. */
async function accept({ address }: Desk, number: number, reply_to?: string): Promise<string> {
  const [id, from] = [`<${newId()}@customer.example>`, `person.${number}@customer.example`]
  const fields = { From: from, To: `${address}, dora@other.example`, Subject: 'Printer', In_Reply_To: reply_to }
  const raw = rawMail({ ...fields, Message_ID: id })
  const { code } = await sendMail({ port: listener.port, from, to: address, raw })
  expect(code).toBe(250)
  return id
}

/**
 * The statements of the transaction that files what waits, sorted: two of them are sent at once over two connections.
 * Inserts of rows count once for each table: `insertRows` divides them into a few statements. A single row of tickets
 * is updated by parameters, several by a list.
 */
async function filingOf(desk: Desk): Promise<string[]> {
  const { statements } = await counter.during(() => fileAsSet(desk.id))
  // The first one lifts the limit of lock waits, the next ends the leases: of one job, or of several.
  const filing = statements.slice(statements.indexOf('begin ') + 3, statements.indexOf('commit') + 1)
  const [inserts, others] = [filing.filter(isInsertOfRows), filing.filter((text) => !isInsertOfRows(text))]
  const named = [...new Set(inserts.map((text) => text.split(')values(')[0]!)), ...others.map(beginOf)]
  return named.toSorted()
}

function isInsertOfRows(text: string): boolean {
  return /^\s*insert into "[^)]*\)values\(/.test(text)
}

function beginOf(text: string): string {
  const words = text.trim().split(/\s+/).slice(0, 4).join(' ')
  return words === 'update tickets t set' ? 'with given as materialized' : words
}

test.each([
  ['nobody listens', async () => {}],
  ['a webhook listens', (desk: Desk) => hearEvents(desk.scope)],
])('filing 20 messages takes as many statements as filing one: tickets and replies, where %s', async (_, listen) => {
  const [alone, together] = [await createDesk(), await createDesk()]
  await Promise.all([listen(alone), listen(together)])
  const first = await accept(alone, 0)
  const firsts = []
  for (let number = 0; number < MANY; number++) firsts.push(await accept(together, number))
  expect(await filingOf(together)).toEqual(await filingOf(alone))

  await accept(alone, 0, first)
  for (const [number, id] of firsts.entries()) await accept(together, number, id)
  expect(await filingOf(together)).toEqual(await filingOf(alone))
  const outcomes = (await ledgerOf(together)).map(({ outcome }: { outcome: string }) => outcome)
  expect(outcomes).toEqual([...Array(MANY).fill('message'), ...Array(MANY).fill('ticket')])
})
