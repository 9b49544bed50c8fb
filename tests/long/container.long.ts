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
import { sendMail, startSmtpSink } from '../support/smtp'

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
  const development = ['typescript', 'drizzle-kit', 'playwright-core', 'esbuild', '@biomejs', 'bun-types']
  // The console is made of these when the image is built.
  for (const name of [...development, 'lucide', '@tiptap', 'preact', 'prosemirror-view', 'uplot']) {
    expect([name, fs.existsSync(path.join(image.root, 'app/node_modules', name))]).toEqual([name, false])
  }
})

test.skipIf(why_not !== undefined)(
  'with a read-only root and no rights the service is the first process, healthy, takes mail, sends large signed mail, and stops with 0',
  async () => {
    const data = path.join(dir, 'data')
    fs.mkdirSync(data)
    fs.chownSync(data, 1000, 1000)
    const [port, smtp_port] = [await freePort(), await freePort()]
    const listeners = { PORT: String(port), SMTP_PORT: String(smtp_port), HOST: '127.0.0.1' }
    const { DNS_SERVERS = '' } = process.env
    const settings = { ADMIN_PASSWORD: PASSWORD, DNS_SERVERS, MAIL_ALLOWED_NETWORKS: '127.0.0.0/8' }
    const container = runImage(image, data, { ...listeners, ...settings })
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
    await sendsLargeSignedMail(port)
    const list = container.execute('bun', 'run', 'cli', 'organization', 'list')
    expect([list.status, JSON.parse(list.output)]).toEqual([0, expect.objectContaining({ name: 'My organization' })])
    for (const file of ['console.js', 'console.css', 'frame.css']) {
      const asset = await fetch(`http://127.0.0.1:${port}/console/${file}`)
      expect([file, asset.status]).toEqual([file, 200])
      expect(await asset.text()).not.toBeEmpty()
    }
    const client = await fetch(`http://127.0.0.1:${port}/client.ts`)
    expect([client.status, await client.text()]).toEqual([200, expect.stringContaining('function createDeskwire(')])

    process.kill(container.pid(), 'SIGTERM')
    expect((await ended)[0]).toBe(0)
    // Nothing but lines of the log leaves the container.
    for (const line of container.output().trim().split('\n')) expect(JSON.parse(line)).toHaveProperty('msg')
  },
)

async function takesMail(port: number, smtp_port: number) {
  const call = await signedIn(port)
  await call('/mailboxes', { address: 'desk@deskwire.example' })
  const raw = 'From: a@customer.example\r\nTo: desk@deskwire.example\r\nSubject: Hello\r\n\r\nHello\r\n'
  await sendMail({ port: smtp_port, from: 'a@customer.example', to: ['desk@deskwire.example'], raw })
  await until('the mail is a ticket', async () => (await call('/tickets')).data[0]?.subject === 'Hello')
}

async function sendsLargeSignedMail(port: number) {
  using sink = await startSmtpSink()
  const call = await signedIn(port)
  const smtp = { host: '127.0.0.1', port: sink.port, security: 'none' }
  const dkim = { domain: 'deskwire.example', selector: 'desk' }
  await call('/mailboxes', { address: 'large@deskwire.example', is_default: true, smtp, dkim })
  const contact = await call('/contacts', { name: 'Ann', email: 'ann@customer.example' })
  const ticket = await call('/tickets', { subject: 'Large', contact_id: contact.data.id })
  const form = new FormData()
  form.append('file', new Blob(['x'.repeat(3_000_000)], { type: 'text/plain' }), 'large.txt')
  const file = await call('/attachments', form)
  const message = { body: 'See the file', attachment_ids: [file.data.id] }
  const answer = await call(`/tickets/${ticket.data.id}/messages`, message)
  expect(answer.data).toMatchObject({ email_status: 'sent', email_error: null })
  expect(sink.messages[0]!.raw.length).toBeGreaterThan(3_000_000)
  expect(sink.messages[0]!.raw.toString('latin1')).toMatch(/^DKIM-Signature: .*d=deskwire\.example/)
}

/** Calls the API as the admin: with a body POST, and an error for any answer but 200 and 201. */
async function signedIn(port: number) {
  let token: string | undefined
  const call = async (at: string, body?: FormData | Record<string, unknown>) => {
    const is_json = body !== undefined && !(body instanceof FormData)
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1${at}`, {
      method: body ? 'POST' : 'GET',
      headers: {
        ...(token && { authorization: `Bearer ${token}` }),
        ...(is_json && { 'content-type': 'application/json' }),
      },
      ...(body && { body: is_json ? JSON.stringify(body) : (body as FormData) }),
    })
    if (!answer.ok) throw new Error(`${at} answered ${answer.status} ${await answer.text()}`)
    // biome-ignore lint/suspicious/noExplicitAny: answers of all kinds
    return (await answer.json()) as any
  }
  token = (await call('/auth/login', { email: 'admin@example.com', password: PASSWORD })).access_token
  return call
}

function bytesOf(folder: string): number {
  const { stdout } = spawnSync('du', ['--summarize', '--apparent-size', '--block-size=1', folder], { encoding: 'utf8' })
  return Number(stdout.split('\t')[0])
}
