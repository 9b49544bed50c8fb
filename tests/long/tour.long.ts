/** The tour of the guide, pasted at once into two shells. Only ports and the folder differ. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { freePort } from '../support/ports'
import { until } from '../support/service'

const ROOT = path.join(import.meta.dir, '../..')

const missing = ['bash', 'npm', 'node', 'curl', 'openssl'].find((program) => !Bun.which(program))
if (missing) console.warn(`${missing} is missing: the tour of the guide is not tried`)

let dir: string
let first: ChildProcess | undefined

beforeAll(() => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'tour-'))
  // As root the service runs as another user, who has to get in.
  fs.chmodSync(dir, 0o755)
})
afterAll(async () => {
  if (first?.pid && first.exitCode === null) {
    // npm, the service and the receiver are in the group of the first shell.
    process.kill(-first.pid, 'SIGTERM')
    await once(first, 'exit')
  }
  fs.rmSync(dir, { recursive: true, force: true })
})

test.skipIf(missing !== undefined)('both terminals show what the page says', async () => {
  const [PORT, SMTP_PORT, hook, server_port] = await Promise.all(
    Array.from({ length: 4 }, async () => String(await freePort())),
  )
  const ports: [string, string][] = [
    ['3000', PORT!],
    ['2525', SMTP_PORT!],
    ['8443', hook!],
    ['2587', server_port!],
  ]
  const here = (text: string) => ports.reduce((text, [from, to]) => text.replaceAll(from, to), text)
  const [start, ...rest] = blocks().map((block) => here(block).replaceAll('/tmp/', `${dir}/`))

  const server = paste(start!, { PORT: PORT!, SMTP_PORT: SMTP_PORT! })
  first = server.shell
  const client = paste(rest.join(''), {})
  const [code] = await once(client.shell, 'close')

  const lines = client.output().trim().split('\n')
  expect([code, lines.length]).toEqual([0, 9])
  const [mailbox, webhook, ticket, answer, deliveries] = lines.slice(0, 5).map((line) => JSON.parse(line))
  expect(mailbox.data.address).toBe('support@example.com')
  expect(webhook.data.events).toEqual(['ticket.created', 'message.created'])
  expect(ticket.data).toMatchObject([{ code: 'TKT-1', subject: 'The printer is on fire' }])
  expect(answer.data.body).toBe('Please step back from the printer.')
  expect(
    deliveries.data.map((one: { status: string; response_code: number }) => [one.status, one.response_code]),
  ).toEqual(Array(3).fill(['success', 200]))
  const [, mail] = /^```\n(Subject: [\s\S]*?)\n```$/m.exec(page())!
  expect(lines.slice(5)).toEqual(mail!.split('\n'))
  await until('the receiver shows all events', () => (server.output().match(/^webhook: /gm)?.length ?? 0) >= 3)
  expect(server.output()).toContain(`webhook: ticket.created ${ticket.data[0].id}\n`)
  expect(server.output()).toContain(`webhook: message.created ${answer.data.id}\n`)
})

function page(): string {
  return fs.readFileSync(path.join(ROOT, 'src/guide/tour.md'), 'utf8')
}

/** The shell blocks of the tour: the first is for one terminal, the others are for another. */
function blocks(): string[] {
  return [...page().matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, code]) => code!)
}

function paste(text: string, settings: Record<string, string>) {
  const { PATH, HOME, DNS_SERVERS = '' } = process.env
  const env = { PATH, HOME, DNS_SERVERS, ...settings }
  const shell = spawn('bash', { cwd: ROOT, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [shell.stdout, shell.stderr]) stream.on('data', (chunk) => (output += chunk))
  shell.stdin.end(text)
  return { shell, output: () => output }
}
