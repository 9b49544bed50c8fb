import { describe, expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import ts from 'typescript-5'
import { dependencies } from '../package.json'
import { type Import, nodesOf, readSource, readSources } from './support/sources'

const ROOT = path.join(import.meta.dir, '..')

/** Every file of the product by its name without folder `src` and extension. */
const FILES = readSources(path.join(ROOT, 'src'))

/** All imports. Own files by name, packages as they are written. */
const IMPORTS = [...FILES.values()].flatMap(({ imports }) => imports)

/** The wings from the bottom to the top: a file imports from its own wing and from those before it, types too. */
const WINGS = ['base', 'http', 'delivery', 'desk', 'mail', 'people', 'console', 'operate']
/** Above all wings: they put together what runs. */
const ENTRANCES = ['app', 'cli', 'event-models', 'launch.mjs', 'main', 'models']

/** Rooms that know less than their wing allows, types too. */
const NARROW: [room: string, imports: string][] = [
  ['base/mime', ''],
  ['base/runtime', ''],
  ['base/html', 'base/process base/runtime'],
  ['base/process', 'base/flow base/runtime'],
  ['base/errors', ''],
  ['mail/smtp', 'base/address base/config base/flow base/log base/metrics base/net'],
  ['mail/parse', 'base/address base/flow base/html base/mime base/process'],
]

/** Modules that only some files may import at run time: types are free. */
const ONLY: [what: string, imported: RegExp, by: RegExp][] = [
  ['the app', /^app$/, /^main$/],
  ['routes', /\/routes$/, /^app$/],
  ['what leads requests', /^http\/(pipeline|openapi|rerun)\//, /^(app|main|operate\/start\/jobs|http\/.*)$/],
  [
    'commands',
    /\/commands$/,
    /^(cli|operate\/start\/(jobs|deed-works|account-commands)|mail\/.*|.*\/(routes|commands|create-ticket|written-text|match-person|bulk|wake-ticket|send-due|to-message|begin-ticket|memberships|link|first|closed|apply|apply-rules|bring-participants|split)|operate\/import\/(import-messages|imported-images))$/,
  ],
  // Entrances and admission; the last two use the connection beside the pool (`shortConnection`).
  [
    'the pool',
    /^base\/db\/pool$/,
    /^(main|cli|operate\/(doctor\/open|start\/database|backup\/export-organization|import\/import-organization)|mail\/inlets\/take-mail|http\/admission\/(authenticate|credentials|key-audit))$|^(desk\/(tickets\/code|deeds\/deeds)|delivery\/(outbox\/wake|events\/notices))$/,
  ],
  [
    'transactions without a scope',
    /^base\/db\/transact$/,
    /^base\/(scope|db\/sweep)$|^delivery\/events\/follow$|^people\/(auth|organizations|second-factor)\/commands$|^people\/auth\/(account-audit|forget-accounts|password-reset|refused-sign-ins|second-step)$|^desk\/attachments\/removals$|^people\/organizations\/first$|^mail\/inbound\/accept$|^operate\/backup\/export-organization$/,
  ],
  [
    'the database server',
    /^(operate\/start\/database|base\/db\/(embedded\/.*|migrate))$/,
    /^(main|cli|operate\/(doctor\/open|start\/(database|distribute-command|drop-root|psql)|backup\/.*|continuous\/.*|import\/import-organization)|base\/db\/.*)$/,
  ],
  ['Elysia', /^(elysia|@elysiajs\/.*)$/, /^(app|http\/.*|.*\/(routes|model))$/],
  [
    'TypeBox',
    /^@sinclair\/typebox/,
    /^(event-models|base\/shapes\/.*|http\/.*|.*\/model|desk\/tickets\/(conditions|ticket-fields)|operate\/(backup\/manifest|continuous\/chain-manifest))$/,
  ],
  ['Drizzle', /^drizzle-orm/, /^(base\/db\/.*|.*\/(queries|commands))$/],
  ['the driver', /^postgres$/, /^base\/db\//],
]

/** Ways to name Bun, and what looks like one. */
const BUN = [
  `import { file } from 'bun'`,
  `import type { Server } from 'bun'`,
  `import 'bun:sqlite'`,
  `export * from 'bun'`,
  'await import(`bun:ffi`)',
  `require('bun')`,
  `createRequire(import.meta.url)('bun')`,
  `let server: import('bun').Server`,
  'const { file } = Bun',
  'let server: Bun.Server',
  `globalThis['Bun']`,
  'globalThis.Bun?.gc()',
  'import.meta.dir',
  `/// <reference types="bun-types" />`,
  `import text from './page.html' with { type: 'text' }`,
]
const NO_BUN = [
  `import bunyan from 'bunyan'`,
  `log('Bun is too old') // Bun.file`,
  'import.meta.dirname',
  `import { version } from './package.json' with { type: 'json' }`,
]

/** Files that only compute: they import nothing of ours but each other and the word lists. */
const PURE = new Set(
  `base/errors base/secrets base/shapes/fold base/shapes/time base/shapes/csv-text base/shapes/ids base/address/domains base/address/email
  base/address/characters base/html/body base/html/text base/html/backgrounds base/html/colors base/html/elements
  base/html/formats base/html/tag-names base/html/hidden base/html/style-sheet base/runtime/color-channels
  base/html/image-addresses base/html/long-mail base/html/styles base/html/work-limit base/html/view base/flow/gather
  http/request/steps base/flow/turns
  base/flow/within base/flow/batches mail/parse/quotation mail/parse/reply-text mail/parse/reply-words delivery/outbox/retry
  desk/tickets/status desk/time-entries/csv desk/time-entries/rate delivery/webhooks/signature`.split(/\s+/),
)

describe('wings:', () => {
  test('src has the wings, the guide and the entrances', () => {
    const wings = new Set([...FILES.keys()].flatMap((file) => (file.includes('/') ? file.split('/')[0]! : [])))
    expect([...wings].sort()).toEqual([...WINGS].sort())
    expect([...FILES.keys()].filter((file) => !file.includes('/')).sort()).toEqual(ENTRANCES)
  })

  test('no import leads to a wing above', () => {
    expect(upward({ from: 'desk/tickets/queries', to: 'mail/domains/queries' })).toBe(true)
    expect(upward({ from: 'mail/domains/queries', to: 'desk/tickets/queries' })).toBe(false)
    expect(own().filter(upward)).toEqual([])
  })

  test('there is no circle of rooms', () => {
    const between = own().flatMap(({ from, to }) => (roomOf(from) === roomOf(to) ? [] : [[roomOf(from), roomOf(to)]]))
    expect(findCycle(graph([...between, ['base/db', 'desk/tickets']] as [string, string][]))).toBeDefined()
    expect(findCycle(graph(between as [string, string][]))).toBeUndefined()
  })

  test.each(NARROW)('%s imports only rooms that it may know', (room, imports) => {
    const allowed = [room, 'package.json', ...imports.split(' ')]
    const found = own().filter(({ from }) => roomOf(from) === room)
    expect(found.filter(({ to }) => !allowed.includes(roomOf(to)))).toEqual([])
  })

  test('the console imports only types of the server, but for its settings and what bundles it', () => {
    const found = pairs().filter(
      ({ from, to }) =>
        from.startsWith('console/') && FILES.has(to) && !/^console\/|^base\/(config|runtime\/bundler)$/.test(to),
    )
    expect(found).toEqual([])
  })

  test('a room of more than 20 files has a page', () => {
    const rooms = Map.groupBy(FILES.keys(), (file) => path.posix.dirname(file))
    const large = [...rooms].filter(([, files]) => files.length > 20).map(([room]) => room)
    expect(large.length).toBeGreaterThan(5)
    expect(large.filter((room) => !existsSync(path.join(ROOT, 'src', room, 'README.md')))).toEqual([])
  })

  test('each wing has a page of one screen', () => {
    for (const wing of WINGS) {
      const lines = readFileSync(path.join(ROOT, 'src', wing, 'README.md'), 'utf8').split('\n')
      expect([wing, lines.length <= 60]).toEqual([wing, true])
    }
  })
})

describe('direction:', () => {
  test.each(ONLY)('%s', (_, imported, by) => {
    const found = pairs().filter(({ to }) => imported.test(to))
    expect(found).not.toBeEmpty()
    expect(found.filter(({ from }) => !by.test(from))).toEqual([])
  })

  // A request takes the places of who asks: `connectionOf`, `readingOf`, `arrivingOf`, `accountsOf`.
  test('the whole pool is for entrances, and for deeds that go on by themselves', () => {
    const takes = (name: string) =>
      own().flatMap(({ from, to, names }) => (to === 'base/db/pool' && (names?.includes(name) ?? true) ? [from] : []))
    expect(takes('connection').sort()).toEqual(
      [
        ...['cli', 'main', 'operate/backup/export-organization', 'operate/doctor/open'],
        ...['operate/import/import-organization', 'operate/start/database'],
      ].sort(),
    )
    // They find one row by its key, before it is known whose request it is.
    expect(takes('lookUps').sort()).toEqual([
      'http/admission/authenticate',
      'http/admission/credentials',
      'mail/inlets/take-mail',
    ])
  })

  test('queries know no commands, and sections no routes of others', () => {
    const back = pairs().filter(({ from, to }) => /\/(queries|model)$/.test(from) && /\/(commands|routes)$/.test(to))
    expect(back).toEqual([])
  })

  test('pure files import only what is pure', () => {
    for (const file of PURE) expect(FILES.has(file) ? '' : file).toBe('')
    const impure = pairs().filter(({ from, to }) => PURE.has(from) && FILES.has(to) && !PURE.has(to))
    expect(impure.filter(({ to }) => to !== 'base/db/schema')).toEqual([])
  })

  test('there are no cycles of files', () => {
    expect(
      findCycle(
        graph([
          ['a', 'b'],
          ['b', 'c'],
          ['c', 'b'],
        ]),
      ),
    ).toEqual(['b', 'c', 'b'])
    expect(findCycle(graph(IMPORTS.map(({ from, to }) => [from, to])))).toBeUndefined()
  })

  test('the product imports files that exist, no tests, and only declared packages', () => {
    const known = new Set([...FILES.keys(), '../package.json'])
    for (const { from, to } of pairs()) {
      if (known.has(to) || /^(node:|bun$|bun:)/.test(to)) continue
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
    [
      'what a role may do',
      /\brole\b\s*(===?|!==?|<>|=|in|not in)\s*\(?\s*['"`](admin|agent)\b/,
      ['http/request/permissions', 'console/page/view-types'],
    ],
    [
      'kinds of callers',
      /\b(actor|caller)\.type\s*[!=]==?/,
      ['http/request/permissions', 'http/admission/authenticate'],
    ],
    [
      'the environment',
      /process\.env\b|Bun\.env\b|import\.meta\.env\b/,
      ['base/config', 'launch.mjs', 'base/process/child', 'base/process/stop-request'],
    ],
  ])('%s', (_, pattern, allowed) => {
    const found = [...FILES].filter(([, { text }]) => pattern.test(text)).map(([file]) => file)
    expect(found).not.toBeEmpty()
    expect(found.filter((file) => !allowed.includes(file))).toEqual([])
  })
})

describe('Bun:', () => {
  test('one room alone knows it, so that another runtime needs another room and nothing else', () => {
    const files = [...new Bun.Glob('**/*.{ts,tsx,mts,mjs}').scanSync(path.join(ROOT, 'src'))]
    for (const kind of ['.ts', '.tsx', '.mts', '.mjs']) expect(files.some((file) => file.endsWith(kind))).toBe(true)
    const knowing = files.filter((file) => findsBun(file, readFileSync(path.join(ROOT, 'src', file), 'utf8')))
    expect(knowing).not.toBeEmpty()
    expect(knowing.filter((file) => !file.startsWith('base/runtime/'))).toEqual([])
  })

  test.each(BUN)('%s is found', (text) => expect(findsBun('example.mts', text)).toBe(true))
  test.each(NO_BUN)('%s is not Bun', (text) => expect(findsBun('example.ts', text)).toBe(false))

  test('the page of the room names each file, and a standard twin of it', () => {
    const rows = readFileSync(path.join(ROOT, 'src/base/runtime/README.md'), 'utf8').matchAll(/^\| `(.*?)` \|(.*)\|$/gm)
    const twins = [...rows].map(([, file, cells]) => [file, cells!.split('|')[1]!.trim()])
    expect(twins.filter(([, twin]) => !twin)).toEqual([])
    const room = [...FILES.keys()].filter((file) => file.startsWith('base/runtime/'))
    expect(twins.map(([file]) => `base/runtime/${file}`).sort()).toEqual(room)
  })
})

test('no statement folds an address: the key does (`addressKey`), and names alone are sorted in lower case', () => {
  const folded = [...FILES].flatMap(([file, { text }]) =>
    [...text.matchAll(/\b(?:lower|upper|initcap|casefold)\(([^)]*)\)|\b(?:ilike|citext|~\*)\b/gi)].map(([all, of]) => [
      file,
      of ?? all,
    ]),
  )
  expect(folded).not.toBeEmpty()
  // Rows that privacy finds are compared by their key afterwards, and the logs of mail look for words of a subject.
  const may_look = /^(?:desk\/privacy\/|mail\/(?:in|out)bound-messages\/queries)/
  const looked = folded.filter(([file, of]) => !(may_look.test(file!) && /^ilike$|^body collate "C"$/.test(of!)))
  expect(looked.filter(([, of]) => !/^(?:\w\.)?name$|^\$\{(?:table\.)?name\}$/.test(of!))).toEqual([])
})

test('the lock file names no registry: it installs from anyone’s', () => {
  const lock = readFileSync(path.join(ROOT, 'bun.lock'), 'utf8')
  expect(lock).toContain('"elysia": ["elysia@')
  expect(lock.split('\n').filter((line) => line.includes('://'))).toEqual([])
})

/** Tells if a file knows Bun: its modules and types, its global, and what it adds to `import`. */
function findsBun(file: string, text: string): boolean {
  // Only what has one of these words is parsed: few files of the product.
  if (!/bun|import\s*\.\s*meta|\bwith\s*\{/i.test(text)) return false
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  return (
    readSource(file, text).imports.some(({ to }) => /^bun(:|$)/.test(to)) ||
    source.typeReferenceDirectives.some(({ fileName }) => fileName.startsWith('bun')) ||
    nodesOf(source).some(
      (node) =>
        ((ts.isIdentifier(node) || ts.isStringLiteralLike(node)) && node.text === 'Bun') ||
        (ts.isPropertyAccessExpression(node) &&
          /^import\.meta\.(dir|env|file|main|path|require)$/.test(node.getText())) ||
        (ts.isImportAttribute(node) && node.value.getText() !== `'json'`),
    )
  )
}

/** Imports between files of the product. */
function own(): Import[] {
  return IMPORTS.filter(({ to }) => FILES.has(to))
}

/** Tells if an import leads to a wing above; entrances are above all. */
function upward({ from, to }: { from: string; to: string }): boolean {
  return heightOf(to) > heightOf(from)
}

function heightOf(file: string): number {
  const height = WINGS.indexOf(file.split('/')[0]!)
  return height < 0 ? WINGS.length : height
}

/** A folder of a wing; the console is one room. A file beside the folders is its own room. */
function roomOf(file: string): string {
  return file.startsWith('console/') ? 'console' : file.split('/').slice(0, 2).join('/')
}

/** Imports at run time. */
function pairs(): { from: string; to: string }[] {
  return IMPORTS.filter(({ is_type }) => !is_type)
}

function graph(arrows: [from: string, to: string][]): Map<string, string[]> {
  const by_from = Map.groupBy(arrows, ([from]) => from)
  return new Map([...by_from].map(([from, all]) => [from, [...new Set(all.map(([, to]) => to))]]))
}

/** The nodes of a cycle, the first one again at the end. */
function findCycle(arrows: Map<string, string[]>): string[] | undefined {
  const done = new Set<string>()
  const visit = (node: string, above: string[]): string[] | undefined => {
    if (above.includes(node)) return [...above.slice(above.indexOf(node)), node]
    if (done.has(node)) return undefined
    for (const next of arrows.get(node) ?? []) {
      const cycle = visit(next, [...above, node])
      if (cycle) return cycle
    }
    done.add(node)
  }
  for (const node of arrows.keys()) {
    const cycle = visit(node, [])
    if (cycle) return cycle
  }
}
