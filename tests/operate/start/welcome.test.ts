import { afterEach, beforeEach, expect, spyOn, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { log } from '../../../src/base/log'
import { keepPassword, passwordFile } from '../../../src/operate/start/first-password'
import { welcome } from '../../../src/operate/start/welcome'
import { type ChangedSettings, withSettings } from '../../support/settings'

let settings: ChangedSettings

beforeEach(() => {
  settings = withSettings({ DATA_DIR: mkdtempSync(path.join(tmpdir(), 'welcome-')) })
})
afterEach(() => {
  rmSync(path.dirname(passwordFile()), { recursive: true })
  settings.restore()
})

/** The lines that a start prints for people, and those that it logs. */
function printed(output: 'terminal' | 'pipe', email?: string): { text: string; logged: unknown[][] } {
  const write = spyOn(process.stderr, 'write').mockImplementation(() => true)
  const warn = spyOn(log, 'warn').mockImplementation(() => {})
  const { isTTY } = process.stderr
  process.stderr.isTTY = output === 'terminal'
  welcome(2525, email)
  process.stderr.isTTY = isTTY
  const shown = { text: write.mock.calls.map(([text]) => text).join(''), logged: warn.mock.calls }
  write.mockRestore()
  warn.mockRestore()
  return shown
}

test('a terminal shows a generated password once, on a line that has no command', () => {
  keepPassword('generated-1')
  const lines = printed('terminal', 'ada@deskwire.example').text.split('\n')
  const shown = lines.filter((line) => line.includes('generated-1'))
  expect(shown).toEqual(['  Password       generated-1   (shown only now: change it at PATCH /auth/me)'])
  expect(existsSync(passwordFile())).toBe(false)
  expect(printed('terminal').text).not.toContain('generated-1')
})

test('a start that failed after the account was made leaves the password to the next', () => {
  keepPassword('generated-1')
  const { text } = printed('terminal')
  expect(text).toContain('Admin          admin@example.com')
  expect(text).toContain('Password       generated-1 ')
})

test('without a terminal nothing is printed, and the log names a private file with the password', () => {
  keepPassword('former')
  keepPassword('generated-1')
  const { text, logged } = printed('pipe', 'ada@deskwire.example')
  expect(text).toBe('')
  expect(logged).toEqual([[{ file: passwordFile() }, expect.stringContaining('read it in this file')]])
  expect(readFileSync(passwordFile(), 'utf8')).toBe('generated-1\n')
  expect(statSync(passwordFile()).mode & 0o777).toBe(0o600)
})

test('without a terminal and without a generated password there is nothing to say', () => {
  expect(printed('pipe', 'ada@deskwire.example')).toEqual({ text: '', logged: [] })
})

test('a password that the operator chose is not printed', () => {
  expect(printed('terminal', 'ada@deskwire.example').text).not.toContain('Password  ')
})

test('the first steps ask the shell for the password and send it to sign in', () => {
  const { text } = printed('terminal')
  const steps = text.slice(text.indexOf('  TOKEN=')).split('\n  curl')[0]!
  const curl = `curl() { cat >&2; echo '{"access_token":"a.b-c"}'; }; PASSWORD='correct horse'`
  const { stdout, stderr } = spawnSync('/bin/sh', ['-c', `${curl}\n${steps}\necho "$TOKEN"`], { encoding: 'utf8' })
  expect(stdout).toBe('a.b-c\n')
  expect(JSON.parse(stderr)).toEqual({ email: 'admin@example.com', password: 'correct horse' })
})
