/** Mail that the real rspamd judges: its first start compiles for some seconds. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { newId } from '../../src/base/db/columns'
import { type StartedDesk, startDesk } from '../support/desk'
import { deliver, ledgerOf, rawMail } from '../support/mail'
import { freePort } from '../support/ports'
import { until } from '../support/service'
import { withSettings } from '../support/settings'

const PROGRAM = '/usr/bin/rspamd'
const is_missing = !existsSync(PROGRAM)
if (is_missing) console.warn('there is no rspamd: apt-get install rspamd')

/** Every filter knows this text (https://spamassassin.apache.org/gtube/). */
const GTUBE = 'XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X'

let desk: StartedDesk

beforeAll(async () => {
  desk = await startDesk({ smtp: null })
})
afterAll(() => desk.stop())

async function startRspamd() {
  const folder = mkdtempSync(path.join(tmpdir(), 'rspamd-'))
  chmodSync(folder, 0o777)
  const port = await freePort()
  const config = path.join(folder, 'rspamd.conf')
  writeFileSync(
    config,
    `options {
      pidfile = "${folder}/pid"; tempdir = "${folder}"; hs_cache_dir = "${folder}"; stats_file = "${folder}/stats";
      filters = ""; dns { nameserver = ["127.0.0.1:1"]; timeout = 0.1s; retransmits = 1; }
    }
    logging { type = "console"; level = "error"; }
    actions { reject = 15; add_header = 6; }
    worker { type = "normal"; bind_socket = "127.0.0.1:${port}"; count = 1; }`,
  )
  const process = Bun.spawn([PROGRAM, '-f', '-i', '-c', config], { stdout: 'ignore', stderr: 'ignore' })
  const url = `http://127.0.0.1:${port}`
  const stop = async () => {
    process.kill()
    await process.exited
    rmSync(folder, { recursive: true, force: true })
  }
  await until('rspamd answers', async () => (await fetch(`${url}/ping`).catch(() => null))?.ok === true, 120_000)
  return { url, [Symbol.asyncDispose]: stop }
}

test.skipIf(is_missing)(
  'what rspamd rejects is held, and other mail is filed with its score',
  async () => {
    await using rspamd = await startRspamd()
    using _ = withSettings({ RSPAMD_URL: rspamd.url })
    const sent = async (body: string) => {
      const fields = { From: 'a@b.example', Subject: 'x', Message_ID: `<${newId()}@b.example>` }
      await deliver(desk.port, { to: desk.address, raw: rawMail(fields, body) })
      return (await ledgerOf(desk))[0]
    }
    expect(await sent(GTUBE)).toMatchObject({ outcome: 'spam', spam_by: 'rspamd', spam_score: 15 })
    expect(await sent('Hello')).toMatchObject({ outcome: 'ticket', spam_by: 'rspamd', spam_score: expect.any(Number) })
  },
  180_000,
)
