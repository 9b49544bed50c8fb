/** A service whose log cannot be written: it starts, works and stops as ever, and says what is missing. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createOutput } from '../../../src/base/process/output'
import { createDatabase, type TestDatabase } from '../../support/database'
import { freePort } from '../../support/ports'
import { startService, until } from '../../support/service'

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database?.drop())

/** A pipe without a reader that is at work, and how much of it is left. */
function makePipe() {
  const name = path.join(tmpdir(), `pipe-${crypto.randomUUID()}`)
  execFileSync('mkfifo', [name])
  const { O_RDWR, O_RDONLY, O_WRONLY, O_NONBLOCK } = fs.constants
  const held = fs.openSync(name, O_RDWR | O_NONBLOCK)
  const reader = fs.openSync(name, O_RDONLY | O_NONBLOCK)
  return {
    name,
    /** As a process has it, which waits in each write. */
    writer: fs.openSync(name, O_WRONLY),
    fill(): void {
      try {
        for (;;) fs.writeSync(held, `${'x'.repeat(99)}\n`)
      } catch {
        // There is no room left.
      }
    },
    read(): string {
      const bytes = Buffer.alloc(100_000)
      try {
        return bytes.toString('utf8', 0, fs.readSync(reader, bytes))
      } catch {
        return ''
      }
    },
    endReading(): void {
      for (const descriptor of [held, reader]) fs.closeSync(descriptor)
    },
  }
}

type Fault = { what: string; code?: string; output(): string }

test.each<Fault>([
  { what: 'on a full disk', code: 'ENOSPC', output: () => '/dev/full' },
  {
    what: 'a pipe whose reader has gone',
    code: 'EPIPE',
    output() {
      const pipe = makePipe()
      // The shell opens it only while there is a reader.
      setTimeout(pipe.endReading, 300)
      return pipe.name
    },
  },
  {
    what: 'a full pipe that nobody reads',
    output() {
      const pipe = makePipe()
      pipe.fill()
      return pipe.name
    },
  },
])('a service whose log is $what starts, answers, counts the lost lines and stops', async ({ code, output }) => {
  const metrics_port = await freePort()
  const env = {
    DATABASE_URL: database.url,
    DATA_DIR: path.join(tmpdir(), `log-${crypto.randomUUID()}`),
    SECRET_KEY: 'a secret key that only tests use',
    METRICS_PORT: String(metrics_port),
    LOG_LEVEL: 'trace',
  }
  const service = await startService(env, undefined, ['sh', '-c', 'exec "$@" >"$0"', output()])
  expect((await service.call('GET', '/tickets')).status).toBe(200)
  if (code) {
    const metrics = await (await fetch(`http://127.0.0.1:${metrics_port}/metrics`)).text()
    expect(Number(/^deskwire_log_lines_dropped_total (\d+)$/m.exec(metrics)?.[1])).toBeGreaterThan(0)
    const said = service.output().trim().split('\n')
    expect(said.map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({ level: 'error', code, msg: expect.stringMatching(/the log cannot be written/) }),
    ])
  }
  expect(await service.stop()).toBe(0)
})

test('a start that is refused says why, though nobody reads its full pipes', async () => {
  const pipe = makePipe()
  pipe.fill()
  const main = path.join(import.meta.dirname, '../../../src/main.ts')
  const child = Bun.spawn([process.execPath, main], {
    env: { PATH: process.env.PATH, PORT: 'none' },
    stdio: ['ignore', pipe.writer, pipe.writer],
  })
  expect(await child.exited).toBe(78)
})

test('lines wait for a slow reader in their order, and what is beyond their room is dropped and counted', async () => {
  const pipe = makePipe()
  const lost: string[] = []
  const output = createOutput(pipe.writer, (code) => lost.push(code))
  const line = (number: number) => `${number} ${'x'.repeat(10_000)}\n`
  for (let number = 0; number < 200; number++) output.write(line(number))
  expect([lost.slice(0, 1), output.dropped > 50]).toEqual([['EAGAIN'], true])
  let read = ''
  const kept = 200 - output.dropped
  await until('the lines are read', () => {
    read += pipe.read()
    return read.split('\n').length > kept
  })
  expect(read).toBe(Array.from({ length: kept }, (_, number) => line(number)).join(''))
  output.write('after it\n')
  expect(pipe.read()).toBe('after it\n')
})

test.skipIf(process.getuid?.() !== 0)('a line after one that a full disk has cut is whole', () => {
  const folder = fs.mkdtempSync(path.join(tmpdir(), 'cut-'))
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8k', 'none', folder])
  try {
    const [file, other] = ['log', 'other'].map((name) => path.join(folder, name))
    fs.writeFileSync(other!, 'x'.repeat(4096))
    const lost: [string, number][] = []
    const output = createOutput(fs.openSync(file!, 'a'), (...what) => lost.push(what))
    const first = `${'x'.repeat(4000)}\n`
    output.write(first)
    output.write(`${'y'.repeat(200)}\n`)
    fs.rmSync(other!)
    output.write('whole\n')
    expect(lost).toEqual([['ENOSPC', 1]])
    expect(fs.readFileSync(file!, 'utf8')).toBe(`${first}${'y'.repeat(95)}\nwhole\n`)
  } finally {
    execFileSync('umount', ['--lazy', folder])
  }
})
