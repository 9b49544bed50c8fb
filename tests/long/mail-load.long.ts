/** Measures memory and time of a service with idle SMTP connections, with large messages, and when it stops. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createDatabase, type TestDatabase } from '../support/database'
import { freePort } from '../support/ports'
import { type Service, startService, until } from '../support/service'
import { buildMail, dotStuffed, sendMail, smtpDialog, startData } from '../support/smtp'

const ADDRESS = 'support@desk.example'
const FROM = 'carla@customer.example'
const MB = 1024 * 1024

/**
 * Filing has four messages in work at a time, each with its original, a copy for the parser and its decoded parts: some
 * 600 MB, and what is not collected yet. All that passes through weighs more than a gigabyte, each byte more than once.
 */
const LARGE_LIMIT = 900 * MB

let database: TestDatabase
let service: Service
let env: Record<string, string>

beforeAll(async () => {
  database = await createDatabase()
  env = {
    DATABASE_URL: database.url,
    SECRET_KEY: 'a secret key that only tests use',
    DATA_DIR: path.join(tmpdir(), `mail-load-${crypto.randomUUID()}`),
    // As the launcher sets it: on a large machine Bun collects garbage so late that a leak could not be told from it.
    BUN_JSC_forceRAMSize: String(512 * MB),
  }
  service = await startService(env)
  await service.call('POST', '/mailboxes', { address: ADDRESS })
})
afterAll(async () => {
  await service.stop()
  await database.drop()
})

test('500 idle connections and 300 messages beside them stay within 60 MB', async () => {
  await sendMany(100)
  const before = memoryOf('VmRSS')
  const idle = await Promise.all(Array.from({ length: 500 }, () => smtpDialog(service.smtp_port)))
  for (const dialog of idle) expect(await dialog.read()).toStartWith('220')
  await sendMany(300)
  const grown = memoryOf('VmRSS') - before
  console.log(
    `500 idle connections, 300 messages: ${Math.round(grown / MB)} MB more than ${Math.round(before / MB)} MB`,
  )
  expect(grown).toBeLessThan(60 * MB)
  expect(await idle[499]!.command('NOOP')).toStartWith('250')
  for (const dialog of idle) dialog.destroy()
})

test('8 messages of 25 MiB at once, three times, are taken and filed in bounded memory', async () => {
  const attachment = Buffer.concat(Array(285).fill(crypto.getRandomValues(Buffer.alloc(65_536))))
  const before = memoryOf('VmRSS')
  for (let round = 0; round < 3; round++) await sendLarge(attachment)
  const grown = memoryOf('VmHWM') - before
  console.log(`24 messages of 25 MiB: at the most ${Math.round(grown / MB)} MB more`)
  expect(grown).toBeLessThan(LARGE_LIMIT)
}, 600_000)

test('SIGTERM in the middle of a message: it is taken to its end, acknowledged, there, and filed by the next start', async () => {
  const subject = `Stopped ${crypto.randomUUID()}`
  const text = dotStuffed(await buildMail({ from: FROM, to: ADDRESS, subject, text: 'line\n'.repeat(50_000) }))
  const dialog = await startData(service.smtp_port, FROM, ADDRESS)
  dialog.write(text.subarray(0, 100_000))
  const port = service.smtp_port
  const stopped = service.stop()
  await until('no new connection is taken', () => refuses(port))
  dialog.write(text.subarray(100_000))
  expect(await dialog.read()).toStartWith('250')
  const { output } = service
  expect({ code: await stopped, output: output() }).toMatchObject({ code: 0 })

  service = await startService(env)
  await whenFiled()
  const { body } = await service.call('GET', '/inbound-messages?per_page=1')
  expect(body.data[0]).toMatchObject({ subject, outcome: 'ticket' })
})

test('the settings reach the listener, and its transactions the metrics', async () => {
  await service.stop()
  const metrics_port = await freePort()
  const limits = { SMTP_MAX_CLIENTS: '3', SMTP_MAX_CLIENTS_PER_ADDRESS: '1', SMTP_TRUSTED_PROXIES: '127.0.0.0/8' }
  service = await startService({ ...env, ...limits, METRICS_PORT: String(metrics_port) })
  const greetings = []
  const dialogs = []
  for (const address of ['192.0.2.1', '192.0.2.1', '198.51.100.1', '203.0.113.1', '203.0.114.1']) {
    const dialog = await smtpDialog(service.smtp_port)
    dialogs.push(dialog)
    dialog.write(`PROXY TCP4 ${address} 198.51.100.1 40000 25\r\n`)
    greetings.push((await dialog.read()).slice(0, 3))
  }
  expect(greetings).toEqual(['220', '421', '220', '220', '421'])
  for (const line of ['EHLO client.test', `MAIL FROM:<${FROM}>`, `RCPT TO:<${ADDRESS}>`, 'DATA']) {
    await dialogs[0]!.command(line)
  }
  dialogs[0]!.write(dotStuffed(await buildMail({ from: FROM, to: ADDRESS, subject: 'Counted', text: 'Hello' })))
  expect(await dialogs[0]!.read()).toStartWith('250')
  const text = await (await fetch(`http://127.0.0.1:${metrics_port}/metrics`)).text()
  expect(text).toMatch(/^deskwire_smtp\w*_count\{reply="2xx"\} 1$/m)
  for (const dialog of dialogs) dialog.destroy()
})

function refuses(port: number): Promise<boolean> {
  return smtpDialog(port).then(
    (dialog) => {
      dialog.destroy()
      return false
    },
    () => true,
  )
}

/** 8 at once, and waits until all are tickets. */
async function sendLarge(content: Buffer): Promise<void> {
  const compose = (_: unknown, count: number) =>
    buildMail({
      ...{ from: FROM, to: ADDRESS, subject: `Large ${count}`, text: 'See the recording.' },
      attachments: [{ filename: 'recording.mp4', content }],
    })
  const messages = await Promise.all(Array.from({ length: 8 }, compose))
  expect(messages[0]!.length).toBeGreaterThan(24 * MB)
  const send = (raw: Buffer) => sendMail({ port: service.smtp_port, from: FROM, to: ADDRESS, raw })
  expect((await Promise.all(messages.map(send))).map(({ code }) => code)).toEqual(Array(8).fill(250))
  await whenFiled()
  const { body } = await service.call('GET', '/inbound-messages?per_page=8')
  expect(body.data.map(({ outcome }: { outcome: string }) => outcome)).toEqual(Array(8).fill('ticket'))
}

/** Over 10 sessions, and waits until all are filed. */
async function sendMany(count: number): Promise<void> {
  let left = count
  const session = async () => {
    while (left-- > 0) {
      const raw = await buildMail({ from: FROM, to: ADDRESS, subject: 'Small', text: 'The printer is on fire.' })
      expect((await sendMail({ port: service.smtp_port, from: FROM, to: ADDRESS, raw })).code).toBe(250)
    }
  }
  await Promise.all(Array.from({ length: 10 }, session))
  await whenFiled()
}

async function whenFiled(): Promise<void> {
  const isFiled = async () =>
    (await service.call('GET', '/inbound-messages?outcome=pending&per_page=1')).body.meta.total === 0
  await until('all mail is filed', isFiled)
}

/** Bytes of the service: resident now (VmRSS) or at the most (VmHWM). Linux only. */
function memoryOf(what: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${service.process.pid}/status`, 'utf8')
  return Number(new RegExp(`${what}:\\s*(\\d+)`).exec(status)?.[1]) * 1024
}
