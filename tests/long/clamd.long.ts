/** Files that the real clamd scans, with one signature of our own. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pingClamd } from '../../src/desk/attachments/clamd'
import { EICAR } from '../support/clamd'
import { type StartedDesk, startDesk } from '../support/desk'
import { formOf } from '../support/factories'
import { deliver, ledgerOf, readTicket } from '../support/mail'
import { freePort } from '../support/ports'
import { until } from '../support/service'
import { withSettings } from '../support/settings'
import { buildMail } from '../support/smtp'

const PROGRAM = '/usr/sbin/clamd'
const is_missing = !existsSync(PROGRAM)
if (is_missing) console.warn('there is no clamd: apt-get install clamav-daemon')

let desk: StartedDesk

beforeAll(async () => {
  desk = await startDesk()
})
afterAll(() => desk.stop())

async function startRealClamd() {
  const folder = mkdtempSync(path.join(tmpdir(), 'clamd-'))
  chmodSync(folder, 0o755)
  const port = await freePort()
  const place = `127.0.0.1:${port}`
  writeFileSync(path.join(folder, 'own.ndb'), `Own.Eicar:0:*:${Buffer.from(EICAR).toString('hex')}\n`)
  const config = path.join(folder, 'clamd.conf')
  writeFileSync(
    config,
    `Foreground yes\nDatabaseDirectory ${folder}\nTemporaryDirectory ${folder}\nTCPSocket ${port}\nTCPAddr 127.0.0.1
StreamMaxLength 1M\nLogTime yes\nLogFile ${folder}/log\nUser root\n`,
  )
  const process = Bun.spawn([PROGRAM, '-c', config], { stdout: 'ignore', stderr: 'ignore' })
  const stop = async () => {
    process.kill()
    await process.exited
    rmSync(folder, { recursive: true, force: true })
  }
  const answers = () =>
    pingClamd(place, 1000).then(
      () => true,
      () => false,
    )
  await until('clamd answers', answers, 60_000)
  return { place, [Symbol.asyncDispose]: stop }
}

test.skipIf(is_missing)(
  'the real clamd finds a virus, and says what is clean and what is too large for it',
  async () => {
    await using clamd = await startRealClamd()
    using _ = withSettings({ CLAMD_HOST: clamd.place })
    const scanOf = async (content: string) => {
      const { status, body } = await desk.agent.post('/attachments', formOf(content, 'a.bin'))
      return body.data?.scan ?? [status, body.error.code]
    }
    expect(await scanOf('hello')).toBe('clean')
    expect(await scanOf('')).toBe('clean')
    expect(await scanOf(EICAR)).toEqual([422, 'ATTACHMENT_INFECTED'])
    expect(await scanOf(`${'x'.repeat(900_000)}${EICAR}`)).toEqual([422, 'ATTACHMENT_INFECTED'])
    // It answers before it has read all, and closes: many times, because the end of a connection is a race.
    for (let n = 0; n < 20; n++) expect(await scanOf('x'.repeat(20_000_000))).toBe('skipped')
    const raw = await buildMail({
      ...{ from: 'a@b.example', to: desk.address, subject: 'S', text: 'See' },
      attachments: [{ filename: 'a.txt', content: EICAR }],
    })
    await deliver(desk.port, { to: desk.address, raw })
    const [row] = await ledgerOf(desk)
    const { messages } = await readTicket(desk.admin, row.ticket_id)
    expect(messages[0].attachments[0].scan).toBe('infected')
  },
  120_000,
)
