/** The size and the names of source files. */
import { describe, expect, test } from 'bun:test'
import path from 'node:path'
import { readSource, readSources } from './support/sources'

const SRC = path.join(import.meta.dir, '../src')
const SOURCES = readSources(SRC)

const MOST_LINES = 300
/** The schema is one list of tables. */
const LONG_FILES = ['db/schema']

describe('size:', () => {
  test('no file has more than 300 lines', () => {
    const long = [...SOURCES].filter(([file, { lines }]) => lines > MOST_LINES && !LONG_FILES.includes(file))
    expect(long.map(([file, { lines }]) => [file, lines])).toEqual([])
  })

  test('the lines of every kind of function are counted, without its comment and with the functions in it', () => {
    const { functions, lines } = readSource(
      'example.ts',
      `
/** A comment. */
export function outer() {
  const inner = () => {
    return 1
  }
  return inner
}
export class Thing {
  constructor() {}
  get size() {
    return 2
  }
  readonly field = async function () {
  }
}
export const thing = { method() { return '}' } }
list.map((one) =>
  one)
declare function without(): void
`,
    )
    expect(Object.fromEntries(functions.map((one) => [one.name, one.lines]))).toEqual({
      outer: 6,
      inner: 3,
      constructor: 1,
      size: 3,
      field: 2,
      method: 1,
      'a function without a name': 2,
    })
    expect(lines).toBe(20)
  })
})

describe('names:', () => {
  test('at most nine files of src are in no room', () => {
    expect([...SOURCES.keys()].filter((file) => !file.includes('/')).length).toBeWithin(1, 10)
  })
})
