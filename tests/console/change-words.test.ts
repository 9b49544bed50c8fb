/** Changes of a ticket in the words of the timeline. */
import { expect, test } from 'bun:test'
import { wordsOfChange } from '../../src/console/page/inbox/change-words'

const ID = '01a22b91-7565-7050-8b15-b59d82a999b7'

test.each([
  ['priority', 'low', 'high', 'changed Priority from low to high'],
  ['assignee', null, { id: ID, name: 'Ada' }, 'changed Assignee from nothing to Ada'],
  ['team', { id: ID, name: 'First' }, null, 'changed Team from First to nothing'],
  [
    'mailbox',
    null,
    { id: ID, address: 'help@desk.example', name: null },
    'changed mailbox from nothing to help@desk.example',
  ],
  ['parent', null, { id: ID, code: 'TKT-1' }, 'changed Belongs to from nothing to TKT-1'],
  ['external_id', '7', '8', 'changed External id from 7 to 8'],
  [
    'custom',
    { tier: 'gold', seats: null },
    { tier: null, seats: 5 },
    'changed Fields of your own from tier: gold, seats: nothing to tier: nothing, seats: 5',
  ],
  ['later', 1, 2, 'changed later from 1 to 2'],
])('%s', (field, from, to, words) => {
  expect(wordsOfChange(field, from, to)).toBe(words)
})
