/** The image that the Dockerfile makes: its size, and the container as an engine runs it. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { version } from '../../package.json'
import { buildImage, COMMIT, type Image, runImage, whyNoImages } from '../support/image'
import { freePort } from '../support/ports'
import { until } from '../support/service'
import { sendMail } from '../support/smtp'

const MOST_BYTES = 150_000_000
const PASSWORD = 'correct horse battery staple'

const why_not = whyNoImages()
if (why_not) console.warn(`${why_not}: the image is not built and not run`)

let image: Image
let dir: string

beforeAll(() => {
  if (why_not) return
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'container-'))
  fs.chmodSync(dir, 0o711)
  image = buildImage()
})
afterAll(() => {
  if (why_not) return
  image.remove()
  fs.rmSync(dir, { recursive: true, force: true })
})

test.skipIf(why_not !== undefined)('the image adds less than 150 MB to its base, and nothing of development', () => {
  const added = bytesOf(image.root) - bytesOf(image.base)
  console.log(`content above the base: ${(added / 1e6).toFixed(1)} MB`)
  expect(added).toBeWithin(50_000_000, MOST_BYTES)
  expect(fs.readdirSync(path.join(image.root, 'app')).sort()).toEqual(
    ['bun.lock', 'bunfig.toml', 'drizzle', 'node_modules', 'package.json', 'src', 'tsconfig.json'].sort(),
  )
  for (const name of [
    'typescript',
    'drizzle-kit',
    'playwright-core',
    'esbuild',
    '@biomejs',
    'bun-types',
    'mailparser',
  ]) {
    expect([name, fs.existsSync(path.join(image.root, 'app/node_modules', name))]).toEqual([name, false])
  }
})

test.skipIf(why_not !== undefined)(
  'with a read-only root and no rights the service is the first process, healthy, takes mail, and stops with 0',
  async () => {
    const data = path.join(dir, 'data')
    fs.mkdirSync(data)
    fs.chownSync(data, 1000, 1000)
    const [port, smtp_port] = [await freePort(), await freePort()]
    const listeners = { PORT: String(port), SMTP_PORT: String(smtp_port), HOST: '127.0.0.1' }
    const { DNS_SERVERS = '' } = process.env
    const container = runImage(image, data, { ...listeners, ADMIN_PASSWORD: PASSWORD, DNS_SERVERS })
    const [, ...check] = image.config.Healthcheck.Test
    const ended = once(container.process, 'exit')
    await until('it is healthy', () => {
      if (container.process.exitCode !== null) throw new Error(container.output())
      return container.execute(...check).status === 0
    })

    const status = fs.readFileSync(`/proc/${container.pid()}/status`, 'utf8')
    expect(status).toMatch(/^Uid:\t1000\t1000\t1000\t1000$/m)
    expect(status).toMatch(/^CapEff:\t0+$/m)
    expect(status).toMatch(/^NSpid:\t\d+\t1$/m)
    expect(container.execute('touch', 'file').output).toContain('Read-only file system')
    // PostgreSQL runs where it is installed, and is not copied.
    expect(fs.readdirSync(path.join(data, 'postgres')).filter((name) => name.startsWith('postgresql-'))).toEqual([])

    const probe = await fetch(`http://127.0.0.1:${port}/healthz`)
    expect(await probe.json()).toEqual({ status: 'ok', version, commit: COMMIT.slice(0, 12) })
    await takesMail(port, smtp_port)
    const list = container.execute('bun', 'run', 'cli', 'organization', 'list')
    expect([list.status, JSON.parse(list.output)]).toEqual([0, expect.objectContaining({ name: 'My organization' })])
    const client = container.execute('bun', 'run', 'client', '/tmp/client')
    expect(client).toEqual({
      status: 1,
      output: expect.stringMatching(/^deskwire: packages are missing and cannot be installed here .*\n$/),
    })

    process.kill(container.pid(), 'SIGTERM')
    expect((await ended)[0]).toBe(0)
    // Nothing but lines of the log leaves the container.
    for (const line of container.output().trim().split('\n')) expect(JSON.parse(line)).toHaveProperty('msg')
  },
)

async function takesMail(port: number, smtp_port: number) {
  const api = `http://127.0.0.1:${port}/api/v1`
  const json = { 'content-type': 'application/json' }
  const login = JSON.stringify({ email: 'admin@example.com', password: PASSWORD })
  const signed = await fetch(`${api}/auth/login`, { method: 'POST', headers: json, body: login })
  const headers = {
    ...json,
    authorization: `Bearer ${((await signed.json()) as { access_token: string }).access_token}`,
  }
  const mailbox = JSON.stringify({ address: 'desk@deskwire.example' })
  expect((await fetch(`${api}/mailboxes`, { method: 'POST', headers, body: mailbox })).status).toBe(201)
  const raw = 'From: a@customer.example\r\nTo: desk@deskwire.example\r\nSubject: Hello\r\n\r\nHello\r\n'
  await sendMail({ port: smtp_port, from: 'a@customer.example', to: ['desk@deskwire.example'], raw })
  await until('the mail is a ticket', async () => {
    const tickets = (await (await fetch(`${api}/tickets`, { headers })).json()) as { data: { subject: string }[] }
    return tickets.data[0]?.subject === 'Hello'
  })
}

function bytesOf(folder: string): number {
  const { stdout } = spawnSync('du', ['--summarize', '--apparent-size', '--block-size=1', folder], { encoding: 'utf8' })
  return Number(stdout.split('\t')[0])
}
