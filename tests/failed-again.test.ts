/** The runner of the tests, with files of tests that fail. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { TEMPLATE_URL } from './support/database'

let dir: string
beforeAll(() => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'failed-again-'))
})
afterAll(() => fs.rmSync(dir, { recursive: true }))

const GOOD = `
  test('good', () => {})
  test.skip('left out', () => {})`
const BY_LUCK = `
  test('good', () => {})
  describe('a "group" & more', () => {
    test.each([1, 2])('in luck > at number %d', (n) => {
      if (n === 2) expect(existsSync(import.meta.path + '.run')).toBe(true)
    })
    afterAll(() => writeFileSync(import.meta.path + '.run', ''))
  })`
const ALWAYS = `
  test('good', () => {})
  test('bad', () => expect('this').toBe('that'))`
const CRASH = `
  test('crash', () => {
    if (existsSync(import.meta.path + '.run')) return
    writeFileSync(import.meta.path + '.run', '')
    process.kill(process.pid, 'SIGSEGV')
  })`
const LATE = `
  test('slow', async () => {
    if (existsSync(import.meta.path + '.run')) return
    await Bun.sleep(300)
    throw new Error('late')
  }, 100)
  test('next', () => Bun.sleep(600))
  afterAll(() => writeFileSync(import.meta.path + '.run', ''))`

test('a file that failed runs once more: what passes then is named, and what fails again has failed', () => {
  const { status, lines, last } = runTests({ GOOD, BY_LUCK, ALWAYS })
  expect(last).toBe('5 passed, 1 failed')
  expect(status).toBe(1)
  const flaky = lines.filter((line) => line.startsWith('failed at first, passed alone: '))
  expect(flaky).toEqual([expect.stringMatching(/BY_LUCK\.test\.ts > a "group" & more > in luck > at number 2$/)])
  const [failed, ...others] = lines.filter((line) => line.startsWith('failed: '))
  expect([failed, others]).toEqual([expect.stringMatching(/ALWAYS\.test\.ts > bad$/), []])
  expect(lines.slice(lines.indexOf(failed!)).join('\n')).toContain('Expected: "that"')
})

test('tests that failed by luck fail no run', () => {
  const { status, last } = runTests({ GOOD, BY_LUCK })
  expect([status, last]).toEqual([0, '4 passed, 0 failed'])
})

test('what fails outside of a test fails the run, and is counted', () => {
  const { status, lines, last } = runTests({ GOOD, LOST: `import './nowhere'` })
  expect([status, last]).toEqual([1, '1 passed, 1 failed'])
  expect(lines).toContain('failed: 1 outside of the tests, shown above')
})

test('a test that timed out and fails later fails once: what it leaves behind is of no other test', () => {
  const { status, lines, last } = runTests({ GOOD, LATE })
  expect([status, last]).toEqual([0, '3 passed, 0 failed'])
  expect(lines).toContainEqual(expect.stringMatching(/^failed at first, passed alone: .*LATE\.test\.ts > slow$/))
})

test('a crash fails the run, because the files after it were not run', () => {
  const { status, last } = runTests({ GOOD, CRASH })
  expect([status, last]).toEqual([1, expect.stringMatching(/ passed, [1-9] failed$/)])
})

/** Runs files of tests on the server of this run. */
function runTests(tests: Record<string, string>) {
  const files = Object.entries(tests).map(([name, text]) => {
    const file = path.join(fs.mkdtempSync(path.join(dir, 'run-')), `${name}.test.ts`)
    const imports = `import { afterAll, describe, expect, test } from 'bun:test'
      import { existsSync, writeFileSync } from 'node:fs'`
    fs.writeFileSync(file, imports + text)
    return file
  })
  const { stdout, status } = spawnSync(process.execPath, [path.join(import.meta.dir, 'run.ts'), ...files], {
    encoding: 'utf8',
    env: { ...process.env, DESKWIRE_TEST_DATABASE_URL: process.env[TEMPLATE_URL] },
  })
  const lines = stdout.trim().split('\n')
  return { status, lines, last: lines.at(-1) }
}
