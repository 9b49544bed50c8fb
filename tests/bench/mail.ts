/**
 * `bun run bench mail`: messages in, over SMTP, beside the same libraries that parse them and store nothing. The product
 * answers when a message is durable and files it later: prints both rates, and the processor time of all of it.
 * Settings: BENCH_MESSAGES (2000) of 5 kB for each figure, a tenth of it of 500 kB.
 */
import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, loadavg, tmpdir } from 'node:os'
import path from 'node:path'
import { freePort } from '../support/ports'
import { startService, until } from '../support/service'
import { buildMail, dotStuffed, type SmtpDialog, smtpDialog } from '../support/smtp'
import { cpuOf } from './cpu'

const MESSAGES = Number(process.env.BENCH_MESSAGES ?? 2000)
const SESSIONS = [1, 4, 20]
const ADDRESS = 'support@desk.example'
const FROM = 'jack@customer.example'
const SIZES = [
  { name: '5 kB', count: MESSAGES, attachment_bytes: 0 },
  { name: '500 kB', count: Math.ceil(MESSAGES / 10), attachment_bytes: 365_000 },
]

/** Stands for what makes a message a new one. */
const ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

type Side = { port: number; pid: number; whenFiled?: () => Promise<void> }

const dir = path.join(tmpdir(), `deskwire-bench-${crypto.randomUUID()}`)
mkdirSync(dir, { mode: 0o755 })
const service = await startService({ DATA_DIR: dir, LOG_LEVEL: 'warn' })
const bare_port = await freePort()
const bare = spawn(process.execPath, ['--no-orphans', path.join(import.meta.dirname, 'mail-bare.ts')], {
  env: { ...process.env, BENCH_SMTP_PORT: String(bare_port) },
  stdio: 'inherit',
})
await until('the bare server answers', () =>
  smtpDialog(bare_port).then(
    (dialog) => {
      dialog.destroy()
      return true
    },
    () => false,
  ),
)
await service.call('POST', '/mailboxes', { address: ADDRESS })

const product: Side = { port: service.smtp_port, pid: service.process.pid!, whenFiled }
const limit: Side = { port: bare_port, pid: bare.pid! }

console.log(
  `${cpus().length} processors, load ${loadavg()[0]!.toFixed(1)}, ${MESSAGES} messages of 5 kB for each figure`,
)
console.log('acknowledged and filed: messages per second. CPU: milliseconds for each message until it is filed.')
const table = []
for (const size of SIZES) {
  const text = await compose(size.attachment_bytes)
  for (const sessions of SESSIONS) {
    const [mine, theirs] = [
      await measureSide(product, text, size.count, sessions),
      await measureSide(limit, text, size.count, sessions),
    ]
    table.push({
      size: size.name,
      sessions,
      'acknowledged/s': round(mine.acknowledged_per_s),
      'filed/s': round(mine.filed_per_s),
      'CPU Bun': round(mine.server_ms),
      'CPU PostgreSQL': round(mine.database_ms),
      'peak MB': mine.peak_mb,
      'bare/s': round(theirs.filed_per_s),
      'bare CPU': round(theirs.server_ms),
      'bare peak MB': theirs.peak_mb,
    })
  }
}
console.table(table)

bare.kill()
await service.stop()
rmSync(dir, { recursive: true, force: true })
process.exit(0)

async function measureSide(side: Side, text: Buffer, count: number, sessions: number) {
  const dialogs = await Promise.all(Array.from({ length: sessions }, () => signOn(side.port)))
  await send(dialogs, text, Math.ceil(count / 10))
  await side.whenFiled?.()
  forgetPeak(side.pid)
  const before = cpuOf(side.pid, dir)
  const started_ms = performance.now()
  await send(dialogs, text, count)
  const acknowledged_ms = performance.now() - started_ms
  await side.whenFiled?.()
  const filed_ms = performance.now() - started_ms
  const after = cpuOf(side.pid, dir)
  for (const dialog of dialogs) dialog.destroy()
  return {
    acknowledged_per_s: (count / acknowledged_ms) * 1000,
    filed_per_s: (count / filed_ms) * 1000,
    server_ms: (after.server_ms - before.server_ms) / count,
    database_ms: (after.database_ms - before.database_ms) / count,
    peak_mb: peakOf(side.pid),
  }
}

async function signOn(port: number): Promise<SmtpDialog> {
  const dialog = await smtpDialog(port)
  await dialog.read()
  await dialog.command('EHLO bench.example')
  return dialog
}

/** Each session sends its next message when it has the answer to the last one. */
async function send(dialogs: SmtpDialog[], text: Buffer, count: number): Promise<void> {
  let left = count
  const session = async (dialog: SmtpDialog) => {
    while (left-- > 0) {
      for (const line of [`MAIL FROM:<${FROM}>`, `RCPT TO:<${ADDRESS}>`, 'DATA']) await dialog.command(line)
      dialog.write(renew(text))
      const reply = await dialog.read()
      if (!reply.startsWith('250')) throw new Error(reply)
    }
  }
  await Promise.all(dialogs.map(session))
}

/** A customer's message as a mail program writes it, as it travels in DATA. */
async function compose(attachment_bytes: number): Promise<Buffer> {
  const words = 'All work and no play makes Jack a dull boy. '.repeat(44)
  const content = crypto.getRandomValues(Buffer.alloc(Math.min(attachment_bytes, 65_536)))
  const copies = Math.ceil(attachment_bytes / 65_536)
  return dotStuffed(
    await buildMail({
      from: { name: 'Jack', address: FROM },
      to: ADDRESS,
      subject: 'Dull',
      messageId: `<${ID}@customer.example>`,
      text: words,
      html: `<p>${words}</p>`,
      ...(copies > 0 && {
        attachments: [{ filename: 'work.pdf', content: Buffer.concat(Array(copies).fill(content), attachment_bytes) }],
      }),
    }),
  )
}

/** The same message as a new one. */
function renew(text: Buffer): Buffer {
  const copy = Buffer.from(text)
  copy.write(crypto.randomUUID(), copy.indexOf(ID), 'latin1')
  return copy
}

async function whenFiled(): Promise<void> {
  const isFiled = async () => {
    const { body } = await service.call('GET', '/inbound-messages?outcome=pending&per_page=1')
    return body.meta.total === 0
  }
  await until('all mail is filed', isFiled, 600_000)
}

/** The peak is counted from here on. Linux only, like `peakOf`. */
function forgetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5')
}

function peakOf(pid: number): number {
  const kilobytes = /VmHWM:\s*(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Math.round(Number(kilobytes) / 1024)
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}
