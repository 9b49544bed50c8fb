import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { dependencies, devDependencies } from '../package.json'
import { readSources } from './support/sources'

const ROOT = path.join(import.meta.dir, '..')

/** Every file of the product by its name without folder `src` and extension. */
const FILES = readSources(path.join(ROOT, 'src'))

/** All imports. Own files by name, packages as they are written. */
const IMPORTS = [...FILES.values()].flatMap(({ imports }) => imports)

/** The mail rooms: of these, only the last two know tickets. */
const MAIL = 'mail/smtp base/mime mail/parse mail/sender mail/inbound mail/outbound'
/** Rooms that every section may import. */
const SHARED =
  'config errors log scope secrets shapes db disk flow timeline search tallies tracing html address http auth audit-log'

/** Every room, or file outside of a room, with the rooms that it may import, types too. */
const ROOMS: [room: string, imports: string][] = [
  ['main', 'app config http log process db mail/inbound metrics organizations outbox start tracing'],
  [
    'cli',
    'config log settings scope process db base/db/embedded doctor net api-keys address audit-log auth backup domains errors invitations organizations outbox psql shapes start',
  ],
  [
    'app',
    'config http http/rerun http/openapi api-keys attachments audit-log auth companies console contacts domains inbound-messages invitations labels mailboxes messages organizations pages participants stats tickets time-entries timers users webhooks',
  ],
  [
    'backup',
    'config errors log scope secrets shapes settings db base/db/embedded disk process start api-keys attachments audit-log companies contacts domains inbound-messages labels mailboxes messages organizations tickets time-entries timers users webhooks',
  ],
  ['psql', 'db errors process start'],
  ['config', 'errors settings'],
  ['settings', 'config errors address net'],
  ['errors', ''],
  ['log', 'config'],
  ['secrets', ''],
  ['scope', 'db'],
  ['launch.mjs', ''],
  ['client', 'app'],

  ['shapes', 'config db errors scope secrets'],
  ['flow', ''],
  ['disk', 'config errors log'],
  ['html', 'process'],
  ['address', 'shapes'],
  ['net', 'config flow log'],
  ['tracing', 'config db log'],
  ['process', 'flow'],
  ['search', 'db scope html'],
  ['timeline', 'config errors scope shapes db'],
  ['tallies', 'db flow scope'],
  ['db', 'address errors flow log metrics process'],
  ['base/db/embedded', 'db errors log process'],
  ['metrics', 'config db disk flow http log net outbox process webhooks'],
  ['outbox', 'config db flow log metrics scope tracing'],
  [
    'start',
    `${SHARED} ${MAIL} net settings base/db/embedded process http/rerun api-keys attachments domains invitations letters metrics outbox tallies tickets time-entries timers webhooks`,
  ],

  [
    'doctor',
    'config errors log db disk flow settings secrets net metrics attachments domains letters mail/outbound mailboxes outbox start',
  ],

  [
    'http',
    'config errors log process scope shapes db flow net metrics tracing auth audit-log api-keys http/rerun http/openapi',
  ],
  ['http/rerun', 'config errors log scope shapes db flow http attachments'],
  ['http/openapi', 'errors shapes auth http'],

  ['mail/smtp', 'net config log flow'],
  ['base/mime', ''],
  ['mail/parse', 'base/mime html flow process'],
  ['mail/sender', 'base/mime net config log address db flow'],
  [
    'mail/inbound',
    `${SHARED} mail/parse mail/sender mail/smtp attachments contacts letters mailboxes messages metrics net outbox participants tickets webhooks`,
  ],
  ['mail/outbound', `${SHARED} net attachments domains messages metrics outbox`],

  ['api-keys', `${SHARED} net`],
  // A file that is uploaded and one that comes by email are named by one rule.
  ['attachments', `${SHARED} base/mime metrics`],
  ['audit-log', 'scope shapes db flow http'],
  ['auth', `${SHARED} letters mailboxes net`],
  ['companies', `${SHARED} contacts time-entries`],
  ['console', 'config'],
  // Types of answers: what runs in the browser imports nothing of the server.
  [
    'console/page',
    'api-keys attachments audit-log auth inbound-messages labels mailboxes messages participants stats tickets time-entries timeline timers users webhooks',
  ],
  ['contacts', `${SHARED} privacy webhooks`],
  ['inbound-messages', `${SHARED} attachments mail/inbound`],
  ['invitations', `${SHARED} letters mailboxes users`],
  ['labels', SHARED],
  ['letters', `${SHARED} domains mail/outbound mailboxes net outbox`],
  ['domains', `${SHARED} mailboxes net`],
  ['mailboxes', `${SHARED} domains net mail/outbound outbox`],
  ['messages', `${SHARED} attachments domains outbox webhooks`],
  ['organizations', `${SHARED} invitations users`],
  ['pages', ''],
  ['participants', `${SHARED} messages`],
  ['privacy', `${SHARED} attachments messages webhooks`],
  ['stats', `${SHARED} metrics`],
  ['tickets', `${SHARED} attachments messages time-entries timers webhooks`],
  ['time-entries', `${SHARED} webhooks`],
  ['timers', `${SHARED} time-entries`],
  ['users', `${SHARED} invitations timers`],
  ['webhooks', `${SHARED} net metrics outbox`],
]

/** Modules that only some files may import at run time: types are free. */
const ONLY: [what: string, imported: RegExp, by: RegExp][] = [
  ['the app', /^app$/, /^(main|client\/generate)$/],
  ['routes', /\/routes$/, /^app$/],
  [
    'what HTTP needs',
    /^http\//,
    /^(app|main|start\/jobs|http\/.*|metrics\/prometheus|.*\/routes|auth\/(password-(guesses|reset)|refused-sign-ins))$/,
  ],
  [
    'commands',
    /\/commands$/,
    /^(cli|start\/jobs|mail\/.*|.*\/(routes|commands|create-ticket|memberships|link|first|closed))$/,
  ],
  // Entrances and authentication; the last two use the connection beside the pool (`shortConnection`).
  [
    'the pool',
    /^db\/pool$/,
    /^(main|cli|doctor\/open|start\/database|backup\/export-organization|(auth|invitations|organizations)\/routes|http\/(authenticate|credentials|key-audit))$|^(tickets\/code|outbox\/wake)$/,
  ],
  [
    'transactions without a scope',
    /^db\/transact$/,
    /^scope$|^db\/(all-organizations|fills)$|^outbox\/settle$|^(auth|organizations)\/commands$|^auth\/(account-audit|forget-accounts|password-reset|refused-sign-ins)$|^attachments\/removals$|^organizations\/first$|^mail\/inbound\/accept$|^backup\/export-organization$/,
  ],
  [
    'the database server',
    /^(start\/database|db\/(embedded\/.*|migrate))$/,
    /^(main|cli|doctor\/open|start\/(database|distribute-command|drop-root)|backup\/.*|psql\/psql|db\/.*)$/,
  ],
  ['Elysia', /^(elysia|@elysiajs\/.*)$/, /^(app|http\/.*|.*\/(routes|model))$/],
  ['TypeBox', /^@sinclair\/typebox/, /^(shapes\/.*|http\/.*|.*\/model|backup\/manifest)$/],
  ['Drizzle', /^drizzle-orm/, /^(db\/.*|.*\/(queries|commands))$/],
  ['the driver', /^postgres$/, /^db\//],
]

/** Files that only compute: they import nothing of ours but each other and the word lists. */
const PURE = new Set([
  ...[
    'errors',
    'base/shapes/fold',
    'secrets',
    'base/address/domains',
    'mail/parse/quotation',
    'mail/parse/reply-text',
    'mail/parse/reply-words',
    'base/html/body',
    'base/html/text',
    'base/html/backgrounds',
    'base/html/colors',
    'base/html/elements',
    'base/html/work-limit',
  ],
  ...[
    'base/html/view',
    'delivery/outbox/retry',
    'desk/tickets/status',
    'desk/time-entries/csv',
    'desk/time-entries/rate',
  ],
  ...[
    'delivery/webhooks/signature',
    'base/shapes/time',
    'base/flow/gather',
    'base/flow/steps',
    'base/flow/stream',
    'base/flow/turns',
    'base/flow/within',
  ],
  ...['base/flow/batches', 'base/shapes/ids', 'base/address/characters', 'base/address/email'],
])

describe('rooms:', () => {
  test.each(ROOMS)('%s imports only rooms that it may know', (room, imports) => {
    const allowed = [room, 'package.json', ...imports.split(' ')]
    const found = IMPORTS.filter(({ from, to }) => roomOf(from) === room && FILES.has(to))
    expect(found.filter(({ to }) => !allowed.includes(roomOf(to)))).toEqual([])
  })

  test('each has a line in the table', () => {
    expect(new Set([...FILES.keys()].map(roomOf))).toEqual(new Set(ROOMS.map(([room]) => room)))
  })
})

describe('direction:', () => {
  test.each(ONLY)('%s', (_, imported, by) => {
    const found = pairs().filter(({ to }) => imported.test(to))
    expect(found).not.toBeEmpty()
    expect(found.filter(({ from }) => !by.test(from))).toEqual([])
  })

  test('the page of the console imports only types of the server', () => {
    const found = pairs().filter(
      ({ from, to }) => from.startsWith('console/page/') && FILES.has(to) && !to.startsWith('console/page/'),
    )
    expect(found).toEqual([])
  })

  test('queries know no commands, and sections no routes of others', () => {
    const back = pairs().filter(({ from, to }) => /\/(queries|model)$/.test(from) && /\/(commands|routes)$/.test(to))
    expect(back).toEqual([])
  })

  test('pure files import only what is pure', () => {
    for (const file of PURE) expect(FILES.has(file)).toBe(true)
    const impure = pairs().filter(({ from, to }) => PURE.has(from) && FILES.has(to) && !PURE.has(to))
    expect(impure.filter(({ to }) => to !== 'base/db/schema')).toEqual([])
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
    const imports = Map.groupBy(IMPORTS, ({ from }) => from)
    expect(findCycle(new Map([...imports].map(([from, all]) => [from, all.map(({ to }) => to)])))).toBeUndefined()
  })

  test('the product imports files that exist, no tests, and only declared packages', () => {
    const own = new Set([...FILES.keys(), '../package.json'])
    for (const { from, to } of pairs()) {
      if (own.has(to) || /^(node:|bun$|bun:)/.test(to)) continue
      const name = to
        .split('/')
        .slice(0, to.startsWith('@') ? 2 : 1)
        .join('/')
      // The client is generated in a checkout with all dependencies.
      const declared = roomOf(from) === 'client' ? { ...dependencies, ...devDependencies } : dependencies
      expect([from, name, name in declared]).toEqual([from, name, true])
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
      ['generate-client', 'config', 'launch.mjs', 'base/process/child', 'base/process/stop-request'],
    ],
    [
      'Bun',
      /\bBun\.\w|from 'bun[':]/,
      [
        ...[
          'desk/attachments/storage',
          'people/auth/password',
          'generate-client',
          'console/bundle',
          'base/db/columns',
          'base/db/embedded/file-user',
          'base/db/embedded/service-lock',
          'base/db/embedded/supervise',
          'base/db/embedded/home',
        ],
        ...[
          'base/db/embedded/server',
          'base/db/embedded/file-lock',
          'base/db/migrate',
          'base/html/colors',
          'operate/start/prometheus',
          'http/pipeline/http-listener',
          'base/net/steer',
          'base/flow/collect',
          'base/flow/stream',
        ],
      ],
    ],
  ])('%s', (_, pattern, allowed) => {
    const found = [...FILES].filter(([, { text }]) => pattern.test(text)).map(([file]) => file)
    expect(found).not.toBeEmpty()
    expect(found.filter((file) => !allowed.includes(file))).toEqual([])
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
  // What this finds is compared by its key afterwards.
  const looked = folded.filter(([file, of]) => !(file!.startsWith('privacy/') && of === 'ilike'))
  expect(looked.filter(([, of]) => !/^(?:\w\.)?name$|^\$\{(?:table\.)?name\}$/.test(of!))).toEqual([])
})

test('the lock file names no registry: it installs from anyone’s', () => {
  const lock = readFileSync(path.join(ROOT, 'bun.lock'), 'utf8')
  expect(lock).toContain('"elysia": ["elysia@')
  expect(lock.split('\n').filter((line) => line.includes('://'))).toEqual([])
})

/** A folder of src, or one of the folders that are rooms within a room. A file outside of a folder is its own room. */
function roomOf(file: string): string {
  return /^(mail\/\w+|http\/(rerun|openapi)|db\/embedded|console\/page)(?=\/)/.exec(file)?.[0] ?? file.split('/')[0]!
}

/** Imports at run time. */
function pairs(): { from: string; to: string }[] {
  return IMPORTS.filter(({ is_type }) => !is_type)
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
