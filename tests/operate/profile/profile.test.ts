/** `cli profile` beside a service that takes mail: names the files in which its time goes. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { type Ended, runCli } from '../../support/backups'
import { createDatabase, type TestDatabase } from '../../support/database'
import { type Service, startService } from '../../support/service'
import { sendMail } from '../../support/smtp'

const LINE = 'Please send Carlotta another valve, order 4711, see https://shop.example/orders/4711'
const RAW = `From: carla@customer.example\r\nSubject: Pump\r\n\r\n${`${LINE}\r\n`.repeat(500_000 / LINE.length)}`

let database: TestDatabase
let service: Service
let env: { DATABASE_URL: string; DATA_DIR: string; SECRET_KEY: string }

beforeAll(async () => {
  database = await createDatabase()
  const data_dir = fs.mkdtempSync(path.join(os.tmpdir(), 'profile-'))
  env = { DATABASE_URL: database.url, DATA_DIR: data_dir, SECRET_KEY: 'a secret key that only tests use' }
  service = await startService(env)
  await service.call('POST', '/mailboxes', { address: 'help@desk.example' })
})
afterAll(async () => {
  await service?.kill()
  await database?.drop()
  fs.rmSync(env.DATA_DIR, { recursive: true, force: true })
})

function socketFiles(): string[] {
  return fs.readdirSync(path.join(env.DATA_DIR, 'profile'))
}

/** Runs the command, and sends mail until it ends. */
async function profileMail(): Promise<Ended> {
  let is_running = true
  const ended = runCli(['profile', '3'], env).finally(() => (is_running = false))
  const mail = { port: service.smtp_port, from: 'carla@customer.example', to: 'help@desk.example', raw: RAW }
  while (is_running) expect((await sendMail(mail)).code).toBe(250)
  return ended
}

test('a profile names the lines of the service and of the parser, and nothing of the mail', async () => {
  const { code, stdout, stderr } = await profileMail()
  expect([code, stderr]).toEqual([0, ''])
  const [own, parser] = ['service', 'src/mail/parse/process-main.ts'].map((name) => {
    return stdout.split(/^(?=\S+: \d+ ms of a processor)/m).find((table) => table.startsWith(`${name}: `))
  })
  expect(own).toMatch(/ src\/(?:mail\/inbound|base)\/[a-z/-]+\.ts:\d+/)
  expect(parser).toMatch(/ textToHtml +src\/base\/html\/body\.ts:\d+/)
  expect(parser).toMatch(/ parseMail +src\/mail\/parse\/parse\.ts:\d+/)
  for (const word of ['carl', 'Carl', 'Pump', 'valve', '4711', 'example']) expect(stdout).not.toContain(word)
})

test('only the user of the service may open its socket', () => {
  const [file] = socketFiles()
  const modes = ['profile', `profile/${file}`].map((one) => fs.statSync(path.join(env.DATA_DIR, one)).mode & 0o777)
  expect([file, ...modes]).toEqual([`${service.process.pid}.sock`, 0o700, 0o600])
})

test.each(['0', '61', '1.5'])('%s seconds are refused', async (seconds) => {
  const { code, stderr } = await runCli(['profile', seconds], env)
  expect([code, stderr]).toEqual([1, 'deskwire: give whole seconds from 1 to 60\n'])
})

test('a second profile at a time is refused', async () => {
  const unix = path.join(env.DATA_DIR, 'profile', socketFiles()[0]!)
  const answers = await Promise.all([1, 2].map(() => fetch('http://service/?duration_ms=500', { unix })))
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409])
})

test('a service that stops removes its socket, and one that was killed is passed over', async () => {
  expect(await service.stop()).toBe(0)
  expect(socketFiles()).toEqual([])
  service = await startService(env)
  await service.kill()
  expect(socketFiles()).toHaveLength(1)
  const { code, stderr } = await runCli(['profile', '1'], env)
  expect([code, stderr]).toEqual([1, expect.stringContaining('no service answers in ')])
})
