import { expect, spyOn, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import { welcome } from '../../src/start/welcome'

/** What a start prints for people. */
function printed(admin: Parameters<typeof welcome>[1]): string {
  const write = spyOn(process.stderr, 'write').mockImplementation(() => true)
  welcome(2525, admin)
  const text = write.mock.calls.map(([text]) => text).join('')
  write.mockRestore()
  return text
}

test('a generated password is printed once, on a line that has no command', () => {
  const lines = printed({ email: 'ada@deskwire.example', password: 'generated-1' }).split('\n')
  const shown = lines.filter((line) => line.includes('generated-1'))
  expect(shown).toEqual(['  Password       generated-1   (shown only now: change it at PATCH /auth/me)'])
})

test('a password that the operator chose is not printed', () => {
  expect(printed({ email: 'ada@deskwire.example', password: null })).not.toContain('Password  ')
})

test('the first steps ask the shell for the password and send it to sign in', () => {
  const text = printed(undefined)
  const steps = text.slice(text.indexOf('  TOKEN=')).split('\n  curl')[0]!
  const curl = `curl() { cat >&2; echo '{"access_token":"a.b-c"}'; }; PASSWORD='correct horse'`
  const { stdout, stderr } = spawnSync('/bin/sh', ['-c', `${curl}\n${steps}\necho "$TOKEN"`], { encoding: 'utf8' })
  expect(stdout).toBe('a.b-c\n')
  expect(JSON.parse(stderr)).toEqual({ email: 'admin@example.com', password: 'correct horse' })
})
