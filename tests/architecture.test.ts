import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { dependencies } from '../package.json'

const ROOT = path.join(import.meta.dir, '..')

/** Every file of the product by its name without folder `src` and extension, with its text. */
const FILES = new Map(
  [...new Bun.Glob('**/*.{ts,mjs}').scanSync(path.join(ROOT, 'src'))]
    .filter((file) => !file.endsWith('.d.ts'))
    .map((file) => [file.replace(/\.ts$/, ''), readFileSync(path.join(ROOT, 'src', file), 'utf8')] as const),
)

/** What each file imports at run time: types are free. Own files by name, packages as they are written. */
const IMPORTS = new Map([...FILES].map(([file, text]) => [file, importsOf(file, text)]))

/** What may be imported only by some. A name that ends in `/` stands for a folder. */
const ONLY: [what: string, imported: RegExp, by: RegExp][] = [
  ['the app', /^app$/, /^main$/],
  ['routes', /\/routes$/, /^app$/],
  ['what HTTP needs', /^http\//, /^(app|main|start\/jobs|http\/.*|metrics\/listener|.*\/routes|auth\/commands)$/],
  ['commands', /\/commands$/, /^(cli|start\/jobs|mail\/.*|.*\/(routes|commands|link|first))$/],
  // Entrances and authentication; the last two use the connection beside the pool (`shortConnection`).
  [
    'the pool',
    /^db\/pool$/,
    /^(main|cli|start\/database|auth\/routes|http\/authenticate)$|^(tickets\/code|outbox\/wake)$/,
  ],
  [
    'transactions without a scope',
    /^db\/transact$/,
    /^scope$|^outbox\/settle$|^(auth|organizations)\/commands$|^attachments\/removals$|^organizations\/first$|^tickets\/purge$|^mail\/inbound\/retention$/,
  ],
  [
    'the database server',
    /^(start\/database|db\/(embedded\/.*|migrate))$/,
    /^(main|cli|start\/(doctor|database)|db\/.*)$/,
  ],
  ['Elysia', /^(elysia|@elysiajs\/.*)$/, /^(app|http\/.*|.*\/(routes|model))$/],
  ['TypeBox', /^@sinclair\/typebox/, /^(shapes\/.*|http\/.*|.*\/model)$/],
  ['Drizzle', /^drizzle-orm/, /^(db\/.*|.*\/(queries|commands))$/],
  ['the driver', /^postgres$/, /^db\//],
]

/** Files that only compute: they import nothing of ours but each other and the word lists. */
const PURE = new Set([
  ...['errors', 'search/fold', 'secrets', 'address/domains', 'mail/parse/reply-text', 'html/body', 'html/text'],
  ...['html/view', 'outbox/retry', 'tickets/status', 'time-entries/csv', 'time-entries/rate'],
  ...['webhooks/signature', 'shapes/time', 'flow/gather', 'flow/steps', 'flow/stream', 'flow/turns', 'flow/within'],
  ...['flow/batches', 'shapes/ids', 'shapes/characters', 'address/email'],
])

describe('direction:', () => {
  test.each(ONLY)('%s', (_, imported, by) => {
    const found = pairs().filter(({ to }) => imported.test(to))
    expect(found).not.toBeEmpty()
    expect(found.filter(({ from }) => !by.test(from))).toEqual([])
  })

  test('queries know no commands, and sections no routes of others', () => {
    const back = pairs().filter(({ from, to }) => /\/(queries|model)$/.test(from) && /\/(commands|routes)$/.test(to))
    expect(back).toEqual([])
  })

  test('pure files import only what is pure', () => {
    for (const file of PURE) expect(FILES.has(file)).toBe(true)
    const impure = pairs().filter(({ from, to }) => PURE.has(from) && FILES.has(to) && !PURE.has(to))
    expect(impure.filter(({ to }) => to !== 'db/schema')).toEqual([])
  })

  test('there are no cycles', () => {
    expect(
      findCycle(
        new Map([
          ['a', ['b']],
          ['b', ['c']],
          ['c', ['b']],
        ]),
      ),
    ).toEqual(['b', 'c', 'b'])
    expect(findCycle(IMPORTS)).toBeUndefined()
  })

  test('the product imports files that exist, no tests, and only declared packages', () => {
    const own = new Set([...FILES.keys(), '../package.json'])
    for (const { from, to } of pairs()) {
      if (own.has(to) || /^(node:|bun$|bun:)/.test(to)) continue
      const name = to
        .split('/')
        .slice(0, to.startsWith('@') ? 2 : 1)
        .join('/')
      expect([from, name, name in dependencies]).toEqual([from, name, true])
    }
  })
})

describe('only some files know', () => {
  test.each([
    ['what a role may do', /\brole\b\s*(===?|!==?|<>|=|in|not in)\s*\(?\s*['"`](admin|agent)\b/, ['auth/permissions']],
    ['kinds of callers', /\b(actor|caller)\.type\s*[!=]==?/, ['auth/permissions', 'http/rerun/idempotency']],
    ['the environment', /process\.env\b|Bun\.env\b|import\.meta\.env\b/, ['config', 'launch.mjs']],
    [
      'Bun',
      /\bBun\.\w|from 'bun[':]/,
      [
        ...['attachments/storage', 'auth/password', 'db/columns', 'db/embedded/supervise', 'db/embedded/home'],
        ...['db/embedded/server', 'db/embedded/file-lock', 'db/migrate', 'metrics/listener', 'main', 'flow/stream'],
      ],
    ],
  ])('%s', (_, pattern, allowed) => {
    const found = [...FILES].filter(([, text]) => pattern.test(text)).map(([file]) => file)
    expect(found).not.toBeEmpty()
    expect(found.filter((file) => !allowed.includes(file))).toEqual([])
  })
})

test('the lock file names no registry: it installs from anyone’s', () => {
  const lock = readFileSync(path.join(ROOT, 'bun.lock'), 'utf8')
  expect(lock).toContain('"elysia": ["elysia@')
  expect(lock.split('\n').filter((line) => line.includes('://'))).toEqual([])
})

function pairs(): { from: string; to: string }[] {
  return [...IMPORTS].flatMap(([from, imports]) => imports.map((to) => ({ from, to })))
}

function importsOf(file: string, text: string): string[] {
  const transpiler = new Bun.Transpiler({ loader: file.endsWith('.mjs') ? 'js' : 'ts' })
  return transpiler
    .scanImports(text)
    .map(({ path: name }) => (name.startsWith('.') ? path.join(path.dirname(file), name) : name))
}

/** The files of a cycle, the first one again at the end. */
function findCycle(imports: Map<string, string[]>): string[] | undefined {
  const done = new Set<string>()
  const visit = (file: string, above: string[]): string[] | undefined => {
    if (above.includes(file)) return [...above.slice(above.indexOf(file)), file]
    if (done.has(file)) return undefined
    for (const next of imports.get(file) ?? []) {
      const cycle = visit(next, [...above, file])
      if (cycle) return cycle
    }
    done.add(file)
  }
  for (const file of imports.keys()) {
    const cycle = visit(file, [])
    if (cycle) return cycle
  }
}
