/** Checks the contract row by row: `contract/interface.ts` names the test that proves each row. */
import { describe, expect, test } from 'bun:test'
import { contractRows, extensionRows } from './interface'
import { readInterface, rowsOf } from './read-interface'
import { namesIn, readTestNames } from './test-names'

const rows = contractRows()
const extensions = extensionRows()
const written = await readInterface()
if (!written) console.log('skipped: the text of the interface is not here, so its rows cannot be compared')

describe('the contract', () => {
  test('is proven by tests that exist', async () => {
    const names = await readTestNames()
    expect([...rows, ...extensions].filter(({ proof }) => !names.has(proof))).toEqual([])
  })

  test('names each row once', () => {
    expect(rows.length).toBeGreaterThan(400)
    const all = [...rows, ...extensions].map(({ row }) => row)
    expect(new Set(all).size).toBe(all.length)
  })

  test.skipIf(!written)('has every row of the interface, and no other', () => {
    expect(rows.map(({ row }) => row)).toEqual(written!)
  })
})

test('rows are the names in tables, rules and sentences that list fields, without the gaps', () => {
  const text = `
## Things

| Field | Type |
|---|---|
| id, \`name\` | string |

1. A rule.

| Method | Path | Request | Response |
|---|---|---|---|
| GET | \`/things\` | \`{size: integer}\` | \`{data: thing}\` with \`color\` |

| From | Moved by | Condition | To |
|---|---|---|---|
| new | use | none | old |

Log time body: \`date\` (date).

Gaps:

| Field | Type |
|---|---|
| unknown | string |
`
  expect(rowsOf(text)).toEqual([
    'Things / field / id',
    'Things / field / name',
    'Things / rule / 1',
    'GET /things',
    'GET /things / request / size',
    'GET /things / response / thing',
    'GET /things / response / color',
    'Things / new -> old',
    'Things / log time body / date',
  ])
})

test('names of tests are read with their groups, whatever stands between them and their table', () => {
  const source = `
describe('a group', () => {
  test("it's here", () => {
    until('no test', () => true)
  })

  test.each([
    ['x', 'y'],
  ])('%s of a table', async (x) => {})

  describe.each([1])('inner %i', () => {
    test.each(WORDS.filter((word) => word))(
      'far below',
      async () => {},
    )
  })
})

test('alone', async () => {})`
  expect(namesIn(source)).toEqual([
    "a group > it's here",
    'a group > %s of a table',
    'a group > inner %i > far below',
    'alone',
  ])
})
