import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { connection } from '../../../src/base/db/pool'
import { FACETS, rebuildSearch } from '../../../src/desk/search/ticket-document'
import { searchVector, toTsquery, wordsOf } from '../../../src/desk/search/words'
import { type Client, createOrganization, startApi, stopApi } from '../../support/api'
import { createLabel, createMessage, createTicket } from '../../support/factories'
import { tries } from '../../support/sampled'

beforeAll(() => startApi())
afterAll(stopApi)

/** The subjects that a search finds, newest first. */
async function search(client: Client, words: string, more = ''): Promise<string[]> {
  const answer = await client.get(`/tickets?search=${encodeURIComponent(words)}${more}`)
  expect(answer.status).toBe(200)
  expect(answer.body.meta.total).toBe(answer.body.data.length)
  return answer.body.data.map((ticket: { subject: string }) => ticket.subject)
}

test('a ticket whose facets change has the document that is made anew of it, and so has a new one', async () => {
  const { agent, admin, scope } = await createOrganization()
  const label = await createLabel(agent)
  const [one, other] = await Promise.all([
    createTicket(agent, { subject: 'Fire', priority: 'high', assignee_id: admin.user_id, custom: { floor: 2 } }),
    createTicket(agent, { subject: 'Water', label_ids: [label.id], custom: { floor: 3 } }),
  ])
  await agent.patch(`/tickets/${other.id}`, { status: 'pending' })
  const { sql } = connection()
  const documentOf = async ({ id }: { id: string }) =>
    (await sql`select document::text from ticket_search where ticket_id = ${id}`)[0]!.document as string
  const isMadeAnew = async (ticket: { id: string }) => {
    const kept = await documentOf(ticket)
    await rebuildSearch(scope, ticket.id)
    expect(kept).toBe(await documentOf(ticket))
    return kept
  }
  const [first, second] = [await isMadeAnew(one), await isMadeAnew(other)]
  await sql`
    update tickets t set (${sql(FACETS)}) = (select ${sql(FACETS)} from tickets where id = ${other.id}) where id = ${one.id}`
  expect(await isMadeAnew(one)).not.toBe(first)
  expect(second).toContain('pending')
})

describe('a search', () => {
  test('finds words of the subject, of messages and of notes, all in one ticket', async () => {
    const { agent } = await createOrganization()
    const printer = await createTicket(agent, { subject: 'Printer', description: 'It burns brightly' })
    await createMessage(agent, printer.id, { body: 'Pour water', is_internal: true })
    await createTicket(agent, { subject: 'Kettle', description: 'It burns too' })
    expect(await search(agent, 'burns')).toEqual(['Kettle', 'Printer'])
    expect(await search(agent, 'printer burns water')).toEqual(['Printer'])
    expect(await search(agent, 'kettle water')).toEqual([])
    expect(await search(agent, 'smoke')).toEqual([])
  })

  test('has no regard to case and accents', async () => {
    const { agent } = await createOrganization()
    await createTicket(agent, { subject: 'Žižek ORDERED Crème brûlée in the STRASSE' })
    for (const words of ['zizek', 'ŽIŽEK', 'creme BRULEE', 'straße', 'Crème']) {
      expect([words, await search(agent, words)]).toEqual([words, [expect.stringContaining('Žižek')]])
    }
  })

  test('takes the last word as a beginning too, the others only whole', async () => {
    const { agent } = await createOrganization()
    await createTicket(agent, { subject: 'Printer burning' })
    expect(await search(agent, 'prin')).toHaveLength(1)
    expect(await search(agent, 'printer burn')).toHaveLength(1)
    expect(await search(agent, 'print burning')).toHaveLength(0)
    expect(await search(agent, 'rinter')).toHaveLength(0)
    expect(await search(agent, '"prin"')).toHaveLength(0)
  })

  test('takes words in quotes as a phrase', async () => {
    const { agent } = await createOrganization()
    await createTicket(agent, { subject: 'A', description: 'The printer is on fire.' })
    await createTicket(agent, { subject: 'B', description: 'On the printer: fire!' })
    expect(await search(agent, '"on fire"')).toEqual(['A'])
    expect(await search(agent, '“on fire” printer')).toEqual(['A'])
    expect(await search(agent, '"on   FIRE" "the printer"')).toEqual(['A'])
    expect(await search(agent, 'on fire')).toEqual(['B', 'A'])
    expect(await search(agent, '"on fir"')).toEqual([])
    expect(await search(agent, '"on fire')).toEqual(['B', 'A'])
  })

  test('finds no phrase across the end of a text', async () => {
    const { agent } = await createOrganization()
    const ticket = await createTicket(agent, { subject: 'Printer on', description: 'fire in' })
    await createMessage(agent, ticket.id, { body: 'the office' })
    expect(await search(agent, '"on fire"')).toEqual([])
    expect(await search(agent, '"in the"')).toEqual([])
    expect(await search(agent, '"the office"')).toEqual(['Printer on'])
  })

  test('looks at text, not at markup', async () => {
    const { agent } = await createOrganization()
    await createTicket(agent, { subject: 'A', description: '<p class="wide">It <b>bur</b>ns &amp; smells</p>' })
    for (const words of ['burns', 'smells', '"it burns"']) expect(await search(agent, words)).toEqual(['A'])
    for (const words of ['wide', 'class', 'amp']) expect(await search(agent, words)).toEqual([])
  })

  test('takes addresses and the like as their parts in that order', async () => {
    const { agent } = await createOrganization()
    await createTicket(agent, { subject: 'Ask carla.smith@mail.example.com about error_code 0x80070057, v1.2.3' })
    for (const words of ['carla.smith@mail.example.com', 'example.com', '0x80070057', 'v1.2', 'error_code', "'v1'"]) {
      expect([words, await search(agent, words)]).toEqual([words, [expect.any(String)]])
    }
    expect(await search(agent, 'smith.carla@mail.example.com')).toEqual([])
  })

  test('finds each character of writing without spaces, and several as a phrase', async () => {
    const { agent } = await createOrganization()
    await createTicket(agent, { subject: '打印机着火了' })
    await createTicket(agent, { subject: 'เครื่องพิมพ์ไฟไหม้' })
    await createTicket(agent, { subject: 'プリンターが燃えている' })
    expect(await search(agent, '着火')).toEqual(['打印机着火了'])
    expect(await search(agent, '火着')).toEqual([])
    expect(await search(agent, 'ไฟไหม้')).toEqual(['เครื่องพิมพ์ไฟไหม้'])
    expect(await search(agent, '燃え')).toEqual(['プリンターが燃えている'])
  })

  test('by a code finds its ticket, and those that mention it', async () => {
    const { agent } = await createOrganization()
    const subjects = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten']
    for (const subject of subjects) await createTicket(agent, { subject })
    expect(await search(agent, 'TKT-1')).toEqual(['one'])
    expect(await search(agent, 'tkt-10')).toEqual(['ten'])
    expect(await search(agent, '[TKT-3],')).toEqual(['three'])
    expect(await search(agent, '"TKT-4"')).toEqual(['four'])
    expect(await search(agent, 'TKT-5 five')).toEqual(['five'])
    expect(await search(agent, 'TKT-5 six')).toEqual([])
    expect(await search(agent, 'tkt')).toEqual([])
    expect(await search(agent, '7')).toEqual([])
    await createTicket(agent, { subject: 'eleven', description: 'The same as TKT-2.' })
    expect(await search(agent, 'TKT-2')).toEqual(['eleven', 'two'])
  })

  test('goes together with filters, sorts and pages', async () => {
    const { agent } = await createOrganization()
    const label = await createLabel(agent)
    await createTicket(agent, { subject: 'fire low', priority: 'low', label_ids: [label.id] })
    await createTicket(agent, { subject: 'fire urgent', priority: 'urgent', assignee_id: agent.user_id })
    await createTicket(agent, { subject: 'fire normal', label_ids: [label.id] })
    await createTicket(agent, { subject: 'water', priority: 'high' })
    expect(await search(agent, 'fire', '&sort=-priority')).toEqual(['fire urgent', 'fire normal', 'fire low'])
    expect(await search(agent, 'fire', '&sort=created_at')).toEqual(['fire low', 'fire urgent', 'fire normal'])
    expect(await search(agent, 'fire', `&label_ids=${label.id}`)).toEqual(['fire normal', 'fire low'])
    expect(await search(agent, 'fire', `&assignee_id=${agent.user_id}&status=open`)).toEqual(['fire urgent'])
    expect(await search(agent, 'fire', '&priority=low')).toEqual(['fire low'])
    expect(await search(agent, 'fire', '&created_before=2020-01-01T00:00:00Z')).toEqual([])
    const second = (await agent.get('/tickets?search=fire&page=2&per_page=2')).body
    expect(second).toMatchObject({ data: [{ subject: 'fire low' }], meta: { total: 3, page: 2, per_page: 2 } })
    const beyond = (await agent.get('/tickets?search=fire&page=3&per_page=2')).body
    expect(beyond).toEqual({
      data: [],
      meta: { total: 3, total_is_exact: true, page: 3, per_page: 2, next_cursor: null },
    })
  })

  test("never finds another organization's tickets", async () => {
    const [one, other] = [await createOrganization(), await createOrganization()]
    await createTicket(other.agent, { subject: 'Secret fire', description: 'Secret fire' })
    await createTicket(one.agent, { subject: 'Open fire' })
    expect(await search(one.agent, 'fire')).toEqual(['Open fire'])
    for (const words of ['secret', 'sec', '"secret fire"', 'TKT-2']) expect(await search(one.agent, words)).toEqual([])
  })

  test('follows the subject and the messages as they change', async () => {
    const { agent } = await createOrganization()
    const ticket = await createTicket(agent, { subject: 'Old name', description: 'It burns' })
    const message = await createMessage(agent, ticket.id, { body: 'Pour water' })
    const note = await createMessage(agent, ticket.id, { body: '<p>Use <b>sand</b></p>', is_internal: true })
    await agent.patch(`/tickets/${ticket.id}`, { subject: 'New name' })
    expect(await search(agent, 'old')).toEqual([])
    for (const words of ['new', 'burns', 'water', '"use sand"', ticket.code]) {
      expect([words, await search(agent, words)]).toEqual([words, ['New name']])
    }
    await agent.delete(`/tickets/${ticket.id}/messages/${message.id}`)
    expect(await search(agent, 'water')).toEqual([])
    expect(await search(agent, 'sand')).toEqual(['New name'])
    await agent.delete(`/tickets/${ticket.id}/messages/${note.id}`)
    expect(await search(agent, 'sand')).toEqual([])
    expect(await search(agent, 'burns')).toEqual(['New name'])
  })

  test.each(['???', '""', "'", '🔥', '"', '- & |'])('without a word, as %s, finds nothing', async (words) => {
    const { agent } = await createOrganization()
    await createTicket(agent, { subject: "??? ' 🔥 - & |" })
    expect(await search(agent, words)).toEqual([])
  })

  test('is text, whatever it means to the database', async () => {
    const { agent } = await createOrganization()
    await createTicket(agent, { subject: "it's 100% \\ :* & | ! <-> (fire) 17:fire" })
    for (const words of [
      "it's",
      'fire & !fire',
      '(fire',
      "fire' | 'x",
      'fire:*',
      '\\',
      'fire\\',
      '%',
      '1:fire:A',
      '_',
    ]) {
      expect([200, words]).toEqual([(await agent.get(`/tickets?search=${encodeURIComponent(words)}`)).status, words])
    }
    expect(await search(agent, 'fire | water')).toEqual([])
    expect(await search(agent, '!fire')).toHaveLength(1)
    expect(await search(agent, "it's fire")).toHaveLength(1)
  })
})

describe('a document', () => {
  test('takes what fits of a very long ticket, and no write fails for it', async () => {
    const { agent, scope } = await createOrganization()
    const words = (from: number) => Array.from({ length: 70_000 }, (_, index) => `word${from + index}`).join(' ')
    const ticket = await createTicket(agent, { subject: 'Long', description: `first ${words(0)} hidden` })
    await createMessage(agent, ticket.id, { body: `second ${words(70_000)}` })
    await createMessage(agent, ticket.id, { body: 'first' })
    expect(await search(agent, 'first word3')).toEqual(['Long'])
    expect(await search(agent, 'hidden')).toEqual([])
    const [document] = await scope.sql<{ size: number; bytes: number }[]>`
      select size, pg_column_size(document || ''::tsvector) as bytes from ticket_search where ticket_id = ${ticket.id}`
    expect(document!.size).toBeLessThanOrEqual(700_000)
    expect(document!.size).toBeGreaterThan(690_000)
    expect(document!.bytes).toBeLessThan(2 ** 20)
    expect((await agent.patch(`/tickets/${ticket.id}`, { subject: 'Short' })).status).toBe(200)
    expect(await search(agent, 'first word3')).toEqual(['Short'])
  })

  test('takes words of any length and number', async () => {
    const { agent } = await createOrganization()
    const description = `${'a'.repeat(5000)} ${'ü'.repeat(3000)} ${'字'.repeat(5000)} ${'fire '.repeat(40_000)} end`
    await createTicket(agent, { subject: 'Odd', description })
    for (const words of ['a'.repeat(200), '字字', '"fire fire"', 'end']) {
      expect(await search(agent, words)).toEqual(['Odd'])
    }
  })
})

describe('words', () => {
  test.each([
    ['Don’t PANIC!', ['don', 't', 'panic']],
    ['foo_bar-baz', ['foo', 'bar', 'baz']],
    ['①２３ ﬁre', ['123', 'fire']],
    ['हिन्दी में', ['हिन्दी', 'में']],
    ['ab字cd', ['ab', '字', 'cd']],
    [`${'x'.repeat(63)}😀${'𝒳'.repeat(70)}`, ['x'.repeat(63), 'x'.repeat(64)]],
    ['🔥 \u0000 \ud800', []],
  ])('%p', (text, expected) => {
    expect(wordsOf(text)).toEqual(expected)
  })

  test('a long text loses no word where it is taken in pieces', async () => {
    const words = Array.from({ length: 16_000 }, (_, index) => `w${index.toString(36).padStart(6, '0')}`)
    const expected = words.map((word, index) => `'1:${word}':${index + 2}`)
    expect((await searchVector('1', words.join(' '), 700_000)).vector).toBe(expected.join(' '))
    const unspaced = Array.from({ length: 30_000 }, (_, index) => String.fromCodePoint(0x20000 + index))
    const { vector } = await searchVector('1', ` ${unspaced.join('')}`, 700_000)
    expect(vector.split(' ')).toHaveLength(unspaced.length)
  })

  test('a document and a query are literals that PostgreSQL reads, whatever the text', async () => {
    const { scope } = await createOrganization()
    const texts = fc.string({ unit: 'binary', maxLength: 300 })
    await fc.assert(
      fc.asyncProperty(texts, texts, async (text, query) => {
        const { vector, size } = await searchVector('17', `${text} ${query}`, 700_000)
        const tsquery = toTsquery('17', query)?.whole
        const [row] = await scope.sql<{ is_found: boolean; bytes: number }[]>`
          select ${vector}::tsvector @@ ${tsquery ?? ''}::tsquery as is_found, pg_column_size(${vector}::tsvector) as bytes`
        expect(row!.is_found).toBe(tsquery !== undefined)
        expect(row!.bytes).toBeLessThanOrEqual(size + 4 * wordsOf(`${text} ${query}`).length + 8)
      }),
      { numRuns: tries(300) },
    )
  })
})
