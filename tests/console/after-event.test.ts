/** Lists and open tickets follow from the bodies of events, without being read again. */
import { expect, test } from 'bun:test'
import type { Told } from '../../src/console/page/events'
import {
  joined,
  listAfter,
  type Shown,
  shownAfter,
  type Tickets,
  totalAfter,
} from '../../src/console/page/inbox/after-event'
import { compare } from '../../src/console/page/inbox/list-order'
import type { Ticket } from '../../src/desk/tickets/model'

const ME = 'me'
const CARLA = { name: 'Carla', email: 'carla@customer.example' }
const HELLO = { format: 'text', body: 'Hello', attachments: [], direction: 'inbound' }
const ticket = (id: string, more: object = {}) =>
  ({
    id,
    subject: `Subject ${id}`,
    status: 'open',
    priority: 'normal',
    assignee: null,
    contact: { id: 'carla', name: 'Carla', email: 'carla@customer.example' },
    company: null,
    labels: [],
    created_at: '2026-01-01T00:00:00Z',
    updated_at: `2026-01-01T00:00:0${id}Z`,
    ...more,
  }) as unknown as Ticket
const listOf = (rows: Ticket[], cursor?: string): Tickets => ({
  rows,
  meta: { next_cursor: cursor ?? null, total: rows.length, per_page: 50 } as unknown as Tickets['meta'],
  cursor,
})
const told = (type: string, data: object, more: Partial<Told> = {}): Told => {
  const { id, ticket } = data as { id: string; ticket?: { id: string } }
  return { type, data, ids: [id, ticket?.id].filter((one) => one !== undefined), ...more }
}
const OPEN = { filter: { status: 'open' }, sort: '-updated_at', me: { id: ME, email: 'me@desk.example' } }
const idsOf = (list: Tickets | boolean) =>
  typeof list === 'boolean' ? list : [...list.rows.map(({ id }) => id), list.meta.total!]
const three = () => listOf([ticket('3'), ticket('2'), ticket('1')])
const changedTo = (id: string, now: object, changes: object) => ({ ...ticket(id, now), changes })

test.each([
  ['one that is made comes', told('ticket.created', ticket('4')), ['4', '3', '2', '1', 4]],
  ['one of another status does not', told('ticket.created', ticket('4', { status: 'closed' })), ['3', '2', '1', 3]],
  [
    'one that is closed goes',
    told('ticket.updated', changedTo('2', { status: 'closed' }, { status: { from: 'open' } })),
    ['3', '1', 2],
  ],
  [
    'one that is opened comes where it belongs',
    told('ticket.updated', changedTo('0', { updated_at: '2026-01-01T00:00:03Z' }, { status: { from: 'closed' } })),
    ['3', '0', '2', '1', 4],
  ],
  [
    'one that changes moves',
    told('ticket.updated', changedTo('1', { updated_at: '2026-01-01T00:00:09Z', priority: 'high' }, {})),
    ['1', '3', '2', 3],
  ],
  ['an older state of one is not taken', told('ticket.updated', ticket('2', { updated_at: '2025' })), false],
  ['the same again changes nothing', told('ticket.assigned', ticket('2')), false],
  ['one that is deleted goes', told('ticket.deleted', ticket('1')), ['3', '2', 2]],
  [
    'one with a message moves',
    told('message.created', {
      ...HELLO,
      ...{ id: 'm', ticket: { id: '1' }, created_at: '2026-01-01T00:00:08Z', sender: CARLA },
    }),
    ['1', '3', '2', 3],
  ],
  [
    'a message of a ticket that is not shown is a reason to read',
    told('message.created', { id: 'm', ticket: { id: '0' } }),
    true,
  ],
  ['so is a merge', told('ticket.merged', ticket('1')), true],
  ['but not for the one who merged, whom an event tells', told('ticket.merged', ticket('1'), { is_own: true }), false],
])('%s', (_, event, expected) => {
  expect(idsOf(listAfter(event, three(), OPEN))).toEqual(expected)
})

test.each([
  ['an answer', { direction: 'outbound', auto_reply: false }, null],
  ['an answer of a rule', { direction: 'outbound', auto_reply: true }, '2026-01-01T00:00:01Z'],
  ['another question', { direction: 'inbound', auto_reply: false }, '2026-01-01T00:00:01Z'],
  ['a note', { direction: null, auto_reply: false }, '2026-01-01T00:00:01Z'],
])('after %s the row tells as the service does whether a customer waits', (_, message, waiting_since) => {
  const list = listOf([ticket('1', { waiting_since: '2026-01-01T00:00:01Z', message_count: 1, attachment_count: 0 })])
  const created_at = '2026-01-01T00:00:08Z'
  const event = told('message.created', {
    ...HELLO,
    id: 'm',
    ticket: { id: '1' },
    created_at,
    sender: CARLA,
    ...message,
  })
  const after = listAfter(event, list, OPEN) as Tickets
  expect((after.rows ?? list.rows)[0]!.waiting_since).toBe(waiting_since)
})

test('a change of this page and its event are counted once', () => {
  const closed = ticket('2', { status: 'closed', updated_at: '2026-01-01T00:00:07Z' })
  const own = listAfter(told('ticket.updated', closed, { is_own: true }), three(), OPEN) as Tickets
  const after = listAfter(told('ticket.updated', { ...closed, changes: { status: { from: 'open' } } }), own, OPEN)
  expect([idsOf(own), idsOf(after)]).toEqual([
    ['3', '1', 3],
    ['3', '1', 2],
  ])
})

test.each([
  ['waiting=true', { waiting_since: null }, { waiting_since: '2026-01-01' }],
  ['waiting=false', { waiting_since: '2026-01-01' }, { waiting_since: null }],
  ['snoozed=true', { snoozed_until: null }, { snoozed_until: '2026-02-01' }],
  ['rating=bad', { rating: null }, { rating: { score: 'bad' } }],
  ['mailbox_id=support', { mailbox: null }, { mailbox: { id: 'support' } }],
])('a row that no longer has %s goes, and is counted at once', (words, now, before) => {
  const [name, value] = words.split('=') as [string, string]
  const list = listOf(['3', '2', '1'].map((id) => ticket(id, before)))
  const asked = { ...OPEN, filter: { [name]: value } }
  const after = listAfter(told('ticket.updated', changedTo('2', now, {})), list, asked)
  expect(idsOf(after)).toEqual(['3', '1', 2])
  const own = told('ticket.updated', changedTo('2', { waiting_since: null }, {}), { is_own: true })
  if (words === 'waiting=true') expect(idsOf(listAfter(own, list, asked))).toEqual(['3', '1', 2])
})

test('a ticket that is read stays among the unread ones until they are read again', () => {
  const asked = { ...OPEN, filter: { unread: 'true' } }
  const list = listOf([ticket('1', { unread: true, draft_count: 1 })])
  const read = listAfter(told('ticket.read', { id: '1', unread: false }), list, asked) as Tickets
  expect([idsOf(read), read.rows[0]!.unread]).toEqual([['1', 1], false])
  expect(listAfter(told('ticket.updated', changedTo('9', {}, {})), list, asked)).toBe(true)
})

test('a draft of somebody marks its row at once', () => {
  const notice = (id: string, draft_count?: number) => ({ type: 'draft', ids: [], ticket_id: id, draft_count }) as Told
  const list = listOf([ticket('2', { draft_count: 0 }), ticket('1', { draft_count: 1 })])
  const begun = listAfter(notice('2', 1), list, OPEN) as Tickets
  expect(begun.rows.map(({ draft_count }) => draft_count)).toEqual([1, 1])
  expect([notice('2', 0), notice('9', 1), notice('1')].map((one) => listAfter(one, list, OPEN))).toEqual([
    ...[false, false, false],
  ])
  const drafts = { ...OPEN, filter: { has_draft: 'true' } }
  expect(idsOf(listAfter(notice('1', 0), listOf([ticket('1', { draft_count: 1 })]), drafts))).toEqual([0])
  expect([notice('9', 1), notice('9', 0)].map((one) => listAfter(one, list, drafts))).toEqual([true, false])
})

test('what only the service can tell is read', () => {
  const searching = { ...OPEN, filter: { search: 'printer' } }
  expect(listAfter(told('ticket.created', ticket('4')), three(), searching)).toBe(true)
  const closed = told('ticket.created', ticket('4', { status: 'closed' }))
  expect(idsOf(listAfter(closed, three(), { ...OPEN, filter: { search: 'printer', status: 'open' } }))).toEqual([
    '3',
    '2',
    '1',
    3,
  ])
})

test('a first page that is read again keeps the pages behind it', () => {
  const before = listOf([ticket('5'), ticket('4'), ticket('3'), ticket('2')], 'second')
  const first = listOf([ticket('6'), ticket('5')], 'first')
  const next = joined(before, first, '-updated_at')
  expect([next.rows.map(({ id }) => id), next.cursor]).toEqual([['6', '5', '4', '3', '2'], 'second'])
})

test.each([
  ['-last_message_at', ['3', '1', '2', 'none']],
  ['last_message_at', ['2', '1', '3', 'none']],
  ['waiting_since', ['1', '3', 'none', '2']],
])('by %s a message moves its row, and tickets without one are last', (sort, expected) => {
  const last = (id: string) => ({ last_message: { id }, waiting_since: null })
  const none = ticket('none', { last_message: null, waiting_since: '2026-01-09' })
  const waits = ticket('1', { ...last('m5'), waiting_since: '2026-01-03' })
  const rows = [none, waits, ticket('2', last('m2')), ticket('3', last('m3'))]
  const message = { ...HELLO, id: 'm9', ticket: { id: '3' }, created_at: '2026-01-05', sender: CARLA }
  const sorted = listOf(rows.toSorted((one, other) => compare(one, other, sort)))
  const after = listAfter(told('message.created', message), sorted, { ...OPEN, sort }) as Tickets
  expect(after.rows.map(({ id }) => id)).toEqual(expected)
})

test('a message of somebody else makes unread, and a mark makes read', () => {
  const message = { ...HELLO, id: 'm', ticket: { id: '1' }, created_at: '2026-01-01T00:00:08Z' }
  const after = (row: object, sender: object) => {
    const list = listAfter(told('message.created', { ...message, sender }), listOf([ticket('1', row)]), OPEN) as Tickets
    return list.rows[0]!.unread
  }
  const bobs = { assignee: { id: 'bob', name: 'Bob' } }
  expect([
    after({}, CARLA),
    after({}, { name: 'Me', email: OPEN.me.email }),
    after(bobs, CARLA),
    after({ ...bobs, read_to: 'm0' }, CARLA),
  ]).toEqual([true, false, false, true])
  const unread = listOf([ticket('1', { unread: true })])
  const read = listAfter(told('ticket.read', { id: '1', unread: false }, { is_own: true }), unread, OPEN) as Tickets
  expect(read.rows[0]!.unread).toBe(false)
  const changed = told('ticket.updated', { ...ticket('1', { priority: 'high', unread: null }), changes: {} })
  expect((listAfter(changed, unread, OPEN) as Tickets).rows[0]!.unread).toBe(true)
  const elsewhere: Told = { type: 'read', ids: [], ticket_id: '1' }
  expect([listAfter(elsewhere, unread, OPEN), listAfter({ ...elsewhere, ticket_id: '2' }, unread, OPEN)]).toEqual([
    true,
    false,
  ])
})

test('a message is the last one of its row, and ends or begins the waiting', () => {
  const row = { message_count: 1, attachment_count: 0, waiting_since: '2026-01-01', draft_count: 2 }
  const written = { format: 'text', body: 'Use \n water.', attachments: [{}], drafted_by: { id: 'bob' } }
  const message = (id: string, more: object) => ({ id, ticket: { id: '1' }, created_at: `2026-01-0${id}`, ...more })
  const list = (given: object, event: object) =>
    listAfter(told('message.created', event), listOf([ticket('1', { ...row, ...given })]), OPEN) as Tickets
  const after = (given: object, event: object) => list(given, event).rows[0]!
  const answer = after({}, message('2', { ...written, direction: 'outbound', sender: { name: 'Bob', email: 'b' } }))
  expect(answer).toMatchObject({
    last_message: { id: '2', direction: 'outbound', sender: { name: 'Bob' }, excerpt: 'Use water.' },
    ...{ waiting_since: null, message_count: 2, attachment_count: 1, draft_count: 1 },
  })
  const html = { format: 'html', body: '', body_html: '<p>a &lt;b&gt;</p><p>c<b>d</b> &amp;amp;</p>', attachments: [] }
  const mail = message('3', { ...html, direction: 'inbound', sender: CARLA, auto_reply: false })
  const asked = after(answer, mail)
  expect([asked.last_message!.excerpt, asked.waiting_since]).toEqual(['a <b> cd &amp;', '2026-01-03'])
  expect(list(asked, { ...mail, body_html: '<p>as its event says</p>' })).toBe(false as never)
  expect(after(answer, { ...mail, auto_reply: true }).waiting_since).toBeNull()
  const note = after(asked, message('4', { ...written, direction: null, sender: { name: 'Me', email: OPEN.me.email } }))
  expect([note.last_message!.id, note.attachment_count, note.draft_count]).toEqual(['3', 1, 1])
})

test('a row keeps what its events do not know, and counts drafts of the person', () => {
  const list = listOf([ticket('1', { draft_count: 1 })])
  const changed = told('ticket.updated', { ...ticket('1', { priority: 'high', draft_count: null }), changes: {} })
  expect((listAfter(changed, list, OPEN) as Tickets).rows[0]!.draft_count).toBe(1)
  const drafts = (step: number) => listAfter(told('drafts', { id: '1', step }, { is_own: true }), list, OPEN) as Tickets
  expect([drafts(1).rows[0]!.draft_count, drafts(-1).rows[0]!.draft_count]).toEqual([2, 0])
  const made = (sender: object) =>
    listAfter(told('ticket.created', ticket('2', { last_message: { sender } })), list, OPEN) as Tickets
  expect([made(CARLA).rows[0]!.unread, made({ email: OPEN.me.email }).rows[0]!.unread]).toEqual([true, false])
})

test('totals follow changes of tickets that are not shown', () => {
  const asked = { filter: { status: 'open', assignee_id: 'me' }, me: { id: ME, email: 'me@desk.example' } }
  const mine = { assignee: { id: ME, name: 'Me' } }
  const total = (event: Told) => {
    const after = totalAfter(event, three().meta, asked)
    return after ? after.total : false
  }
  expect([
    total(told('ticket.updated', changedTo('9', mine, { assignee: { from: null } }))),
    total(told('ticket.updated', changedTo('9', {}, { assignee: { from: mine.assignee } }))),
    total(told('ticket.created', ticket('9'))),
    total(told('ticket.deleted', ticket('9', mine))),
    total(told('ticket.status_changed', ticket('9', mine))),
  ]).toEqual([4, 2, 3, 2, false])
})

test('an open ticket has its messages, changes and names from events, and forgets a tag that no longer holds', () => {
  const shown = {
    ticket: {
      ...ticket('1'),
      labels: [{ id: 'l', name: 'bug', color: '#000000' }],
      messages: [{ id: 'm1' }],
      time_entries: [],
    },
    etag: '"a"',
    included: { contact: { id: 'carla', name: 'Carla' }, other_tickets: [ticket('2')], drafts: [] },
    turns: [0, 0],
  } as unknown as Shown
  const after = (event: Told) => shownAfter(event, shown, OPEN.me) as Shown
  const message = { id: 'm2', ticket: { id: '1' }, created_at: '2026-01-02', sender: CARLA }
  expect(after(told('message.created', message)).ticket.messages.map(({ id }) => id)).toEqual(['m1', 'm2'])
  expect(after(told('message.created', { ...message, id: 'm1' }))).toBe(false as never)
  expect(after(told('message.deleted', { ...message, id: 'm1' })).ticket.messages).toEqual([])
  const { messages, time_entries, ...now } = { ...shown.ticket, priority: 'high' as const }
  const changed = after(told('ticket.updated', now))
  expect([changed.ticket.priority, changed.etag]).toEqual(['high', null])
  expect(after(told('ticket.updated', now, { etag: '"b"', is_own: true })).etag).toBe('"b"')
  expect(after(told('label.updated', { id: 'l', name: 'fault', color: '#000000' })).ticket.labels[0]!.name).toBe(
    'fault',
  )
  expect(after(told('label.deleted', { id: 'l' })).ticket.labels).toEqual([])
  expect(after(told('contact.updated', { id: 'carla', name: 'Dora' })).included.contact!.name).toBe('Dora')
  expect(after(told('ticket.created', ticket('3'))).included.other_tickets.map(({ id }) => id)).toEqual(['3', '2'])
  expect(after(told('time_entry.created', { id: 'e', ticket: { id: '1' } }))).toBe(true as never)
  expect(after(told('ticket.updated', ticket('9')))).toBe(false as never)
})
