/** How a search with its filters as words is read. */
import { expect, test } from 'bun:test'
import { Api } from '../../src/console/page/api'
import { filterOf, linesOf } from '../../src/console/page/inbox/saved-filters'
import { type Choices, readSearch } from '../../src/console/page/inbox/search-words'

const named = (id: string, name: string) => ({ id, name })
const names = {
  users: [named('u1', 'Bob Baker'), named('u2', 'Bo')],
  labels: [named('l1', 'bug'), named('l2', 'to do')],
  mailboxes: [
    { id: 'b1', address: 'support@desk.example', name: null },
    { id: 'b2', address: 'sales@desk.example', name: 'The shop' },
  ],
} as unknown as Choices
const NOON = new Date(2026, 0, 31, 12).getTime()
const read = (text: string) => readSearch(text, names, NOON)
const midnight = (...day: [number, number, number]) => new Date(...day).toISOString()

test.each([
  ['printer  fire', { search: 'printer fire' }],
  ['"on fire" status:open', { search: '"on fire"', status: 'open' }],
  ['is:Pending PRIORITY:urgent', { status: 'pending', priority: 'urgent' }],
  ['status:open,pending', { status: 'open,pending' }],
  ['assignee:me', { assignee_id: 'me' }],
  ['assignee:none', { assignee_id: 'none' }],
  ['assignee:bo', { assignee_id: 'u2' }],
  ['assignee:"bob b"', { assignee_id: 'u1' }],
  ['mailbox:sup', { mailbox_id: 'b1' }],
  ['mailbox:"the shop"', { mailbox_id: 'b2' }],
  ['label:bug label:"to do" x', { label_ids: 'l1,l2', search: 'x' }],
  ['http://from:80/ a', { search: 'http://from:80/ a' }],
])('%s is a filter', (text, filter) => {
  expect(read(text)).toEqual({ filter, unknown: [] } as ReturnType<typeof read>)
})

test('people and companies are looked up by a part of their names', () => {
  expect(read('from:carla@x.example company:"Acme Inc" hi')).toEqual({
    filter: { search: 'hi' },
    from: 'carla@x.example',
    company: 'Acme Inc',
    unknown: [],
  })
})

test.each([
  ['before:today', 'created_before', midnight(2026, 0, 31)],
  ['before:last week', 'created_before', midnight(2026, 0, 24)],
  ['after:yesterday', 'created_after', midnight(2026, 0, 30)],
  ['after:3d', 'created_after', midnight(2026, 0, 28)],
  ['before:2025-12-24', 'created_before', midnight(2025, 11, 24)],
])('%s is a day', (text, name, day) => {
  expect(read(text).filter).toEqual({ [name]: day })
})

test('what names nothing is said, and not searched for', () => {
  expect(read('label:nothing status:on before:2026-13-45 label: fire')).toEqual({
    filter: { search: 'label: fire' },
    unknown: ['label:nothing', 'status:on', 'before:2026-13-45'],
  })
})

test('a saved filter is said in words, and what has none as a parameter; both are read as they were', async () => {
  const filter = {
    ...{
      status: 'open',
      label_ids: 'l1,l2',
      assignee_id: 'u1',
      mailbox_id: 'b2',
      search: 'printer',
      'custom.mark': 'a b',
    },
    ...{ created_before: '2026-01-31T09:00:00.000Z', external_id: '7' },
  }
  const lines = linesOf(filter, names, {})
  expect(lines).toEqual([
    ...[
      'status:open',
      'label:bug',
      'label:"to do"',
      'assignee:"Bob Baker"',
      'mailbox:sales@desk.example',
      'printer',
      'custom.mark=a b',
    ],
    ...['created_before=2026-01-31T09:00:00.000Z', 'external_id=7'],
  ])
  expect(await filterOf(new Api('none'), lines, names)).toEqual(filter)
  const people = { contact_id: 'c1', company_id: 'gone', label_ids: 'l1,gone', search: 'from:carla' }
  expect(linesOf(people, names, { c1: 'carla@x.example' })).toEqual([
    ...['from:carla@x.example', 'company_id=gone', 'label_ids=l1,gone', 'search=from:carla'],
  ])
  await expect(filterOf(new Api('none'), ['label:nothing'], names)).rejects.toContain('label:nothing')
})
