/** The size, the names, the exports and the words of source files. */
import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { commentsOf, readSource, readSources } from './support/sources'

const SRC = path.join(import.meta.dir, '../src')
const SOURCES = readSources(SRC)
const TESTS = readSources(import.meta.dir)

const MOST_LINES = 300
const MOST_CHARACTERS = 120
const MOST_LINES_OF_A_FUNCTION = 60
/** A name says what a function does: in many files it says nothing. */
const MOST_FILES_OF_A_NAME = 5
/** Each section has these four. */
const SECTION_FILES = ['routes', 'model', 'queries', 'commands']
/** `drizzle-kit` reads every export of the schema. */
const READ_BY_TOOLS = 'base/db/schema/'

describe('size:', () => {
  test('no file has more than 300 lines', () => {
    const long = [...SOURCES].filter(([, { lines }]) => lines > MOST_LINES)
    expect(long.map(([file, { lines }]) => [file, lines])).toEqual([])
  })

  test('no function has more than 60 lines', () => {
    const functions = [...SOURCES].flatMap(([file, source]) => source.functions.map((one) => ({ file, ...one })))
    expect(functions.length).toBeGreaterThan(1000)
    expect(functions.filter(({ lines }) => lines > MOST_LINES_OF_A_FUNCTION)).toEqual([])
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
  test('a file name is used once, except for the four of a section', () => {
    const files = Map.groupBy(SOURCES.keys(), (file) => path.basename(file))
    const twice = [...files].filter(([name, all]) => all.length > 1 && !SECTION_FILES.includes(name))
    expect(twice.map(([, all]) => all)).toEqual([])
  })

  test('a function of a file has a name that at most five files use', () => {
    const named = [...SOURCES].flatMap(([file, { text }]) =>
      [...text.matchAll(/^(?:export )?(?:async )?(?:function\*? (\w+)|const (\w+) = (?:async )?\(.*=>)/gm)].map(
        ([, declared, assigned]) => ({ name: (declared ?? assigned)!, file }),
      ),
    )
    const many = [...Map.groupBy(named, ({ name }) => name)].filter(([, all]) => all.length > MOST_FILES_OF_A_NAME)
    expect(many.map(([name, all]) => [name, all.map(({ file }) => file)])).toEqual([])
  })

  test('at most nine files of src are in no room', () => {
    expect([...SOURCES.keys()].filter((file) => !file.includes('/')).length).toBeWithin(1, 10)
  })

  test('another file uses what a file exports', () => {
    const taken = new Map<string, string[] | undefined>()
    for (const [folder, sources] of [['', SOURCES] as const, ['../src/', TESTS] as const]) {
      for (const { from, to, names } of [...sources.values()].flatMap(({ imports }) => imports)) {
        // It lists all models for the document.
        if (from === 'models') continue
        const file = to.replace(folder, '')
        const before = taken.has(file) ? taken.get(file) : []
        taken.set(file, names && before && [...before, ...names])
      }
    }
    const idle = [...SOURCES].flatMap(([file, { exported }]) => {
      const names = taken.has(file) ? taken.get(file) : []
      return exported.filter((name) => names && !names.includes(name)).map((name) => `${file} ${name}`)
    })
    expect(idle.filter((name) => !name.startsWith(READ_BY_TOOLS))).toEqual([])
  })
})

/** Pages that this repository does not have; it has a guide/operate.md and a guide/scale.md. */
const ABSENT_PAGES = /\b(decisions|limits|stack|delivery|email|house|fast|security|(?<!guide\/)(operate|scale))\.md\b/
/** Words that make a reader stop: each has a plain one. */
const ARCHAIC =
  /\b(whom|oftener|thereby|for ever|but for|(?<!there )is none|takes for|works off|hangs on|becomes of)\b/i
/** Openings that hide what a comment is about: it begins with a verb, or with the noun. */
const VAGUE_OPENING = /^(Whether|Who|Whose|Whom|What|Of)\b/

describe('words:', () => {
  test('a text points to no page that is not in the repository', () => {
    const files = ['src', 'tests'].flatMap((folder) =>
      [...new Bun.Glob('**/*.{ts,mjs,md,py,sql}').scanSync(path.join(SRC, '..', folder))].map(
        (file) => `${folder}/${file}`,
      ),
    )
    expect(files).toContain('tests/style.test.ts')
    const texts = files.map((file) => [file, namesIn(file)] as const)
    expect(texts.filter(([, text]) => ABSENT_PAGES.test(text)).map(([file]) => file)).toEqual([])
  })

  test('comments are in plain words and begin with their subject', () => {
    const comments = [...SOURCES, ...TESTS].flatMap(([file, { text }]) =>
      commentsOf(text).map((comment) => [file, comment]),
    )
    expect(comments.length).toBeGreaterThan(1000)
    expect(comments.filter(([, comment]) => ARCHAIC.test(comment!) || VAGUE_OPENING.test(comment!))).toEqual([])
  })

  test('no comment and no prose has a line of more than 120 characters', () => {
    const prose = pages().flatMap(([file, text]) =>
      withoutCode(text).flatMap((line) => (tooLong(line) && !/^\s*[|#!]/.test(line) ? [`${file}: ${line}`] : [])),
    )
    const comments = [...SOURCES, ...TESTS].flatMap(([file, { text }]) =>
      text
        .split('\n')
        .flatMap((line) => (/^\s*(\*|\/\*\*|\/\/) /.test(line) && tooLong(line) ? [`${file}: ${line}`] : [])),
    )
    expect([...prose, ...comments]).toEqual([])
  })
})

/** The text of a file, without the names of pages beside it. */
function namesIn(file: string): string {
  const text = readFileSync(path.join(SRC, '..', file), 'utf8')
  return file.startsWith('src/guide/') ? text.replace(/\b(operate|scale)\.md\b/g, '') : text
}

/** A line with a word that is longer than a line, such as a link, cannot be shorter. */
function tooLong(line: string): boolean {
  return (
    line.length > MOST_CHARACTERS && !line.split(/\s+/).some((word) => word.length > 60) && !/`[^`]{80,}`/.test(line)
  )
}

/** The pages of the repository, with their texts. */
function pages(): [file: string, text: string][] {
  const root = path.join(SRC, '..')
  const files = [...new Bun.Glob('{README.md,{src,tests}/**/*.md}').scanSync(root)]
  return files.map((file) => [file, readFileSync(path.join(root, file), 'utf8')])
}

/** The lines of a page outside its blocks of code. */
function withoutCode(text: string): string[] {
  return text.replace(/^\s*```[\s\S]*?^\s*```/gm, '').split('\n')
}
