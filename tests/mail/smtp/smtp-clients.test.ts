/** Mail from the programs that real servers run; prints which of them are missing on this machine. */
import { afterEach, describe, expect, test } from 'bun:test'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { simpleParser } from 'mailparser'
import { createTransport } from 'nodemailer'
import { sendWithExim, whyNoExim } from '../../support/exim'
import { startRelay, whyNoRelay } from '../../support/postfix'
import { until } from '../../support/service'
import { sendMail } from '../../support/smtp'
import { certificate, closeListeners, start } from '../../support/smtp-listener'

afterEach(closeListeners)

const FROM = 'ann@example.test'
const HELP = 'help@example.com'
const UNKNOWN = 'unknown@example.com'
const PDF = Buffer.from(`%PDF-1.4\n${'report \0\r\n.\r\n'.repeat(20_000)}`)
const BODY = `.leading dot\r\n..two\r\n${'long '.repeat(190)}\r\nGrüße, 您好\r\n.\r\nthe end\r\n`
const RAW = Buffer.from(
  `From: ${FROM}\r\nTo: ${HELP}\r\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\nMessage-ID: <1@example.test>\r\n` +
    'Date: Sat, 21 Nov 2026 12:00:00 +0000\r\nMIME-Version: 1.0\r\n' +
    `Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\n${BODY}`,
)

type Server = Awaited<ReturnType<typeof start>>

/** Runs a program. @returns its exit code and what it wrote */
async function run(program: string, ...options: string[]) {
  const child = Bun.spawn([program, ...options], { stderr: 'pipe' })
  const [output, errors, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return { code, output: output + errors }
}

/** Compares a mail with what a relay may do to it: add lines to the header, and leave the rest as it was. */
function expectOriginal(server: Server) {
  expect(server.stored).toHaveLength(1)
  const [{ envelope, raw }] = server.stored as [Server['stored'][number]]
  expect(envelope).toMatchObject({ sender: FROM, recipients: [{ address: HELP }], tls: true })
  expect(raw.subarray(raw.indexOf('\r\n\r\n') + 4).toString()).toBe(BODY)
  expect(raw.toString()).toContain('Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\n')
}

async function expectReport(server: Server) {
  expect(server.stored).toHaveLength(1)
  const [{ envelope, raw }] = server.stored as [Server['stored'][number]]
  expect(envelope).toMatchObject({ sender: FROM, recipients: [{ address: HELP }], tls: true })
  const mail = await simpleParser(raw)
  expect(mail.text).toContain('See the report.')
  expect(mail.attachments.map(({ filename, content }) => [filename, content.equals(PDF)])).toEqual([
    ['report.pdf', true],
  ])
}

function pdfFile(): string {
  const file = path.join(mkdtempSync(path.join(tmpdir(), 'clients-')), 'report.pdf')
  writeFileSync(file, PDF)
  return file
}

/** Why a program of the PATH cannot be used. */
function whyNo(program: string): string | undefined {
  return Bun.which(program) ? undefined : `${program} is not installed`
}

function testWith(name: string, reason: string | undefined, does: string, work: () => Promise<void>) {
  if (reason) console.warn(`The test with ${name} is skipped: ${reason}`)
  test.skipIf(reason !== undefined)(`${name} ${does}`, work)
}

describe('mail of', () => {
  for (const [how, options] of [
    ['command by command', []],
    ['pipelined', ['--pipeline']],
  ] as const) {
    testWith('swaks', whyNo('swaks'), `sends an attachment over STARTTLS, ${how}`, async () => {
      const server = await start({ tls: certificate })
      const { code, output } = await run(
        ...(['swaks', '--server', '127.0.0.1', '--port', String(server.port), '--helo', 'client.test'] as const),
        ...['--from', FROM, '--to', `${HELP},${UNKNOWN}`, '--tls', '--body', 'See the report.', ...options],
        ...['--attach-type', 'application/pdf', '--attach-name', 'report.pdf', '--attach', `@${pdfFile()}`],
      )
      expect([code, output.includes('550 5.1.1 No such mailbox here')]).toEqual([0, true])
      await expectReport(server)
    })
  }

  testWith('swaks', whyNo('swaks'), 'is refused when its message is too large', async () => {
    const server = await start({ tls: certificate, max_bytes: 10_000 })
    const { code, output } = await run(
      ...(['swaks', '--server', '127.0.0.1', '--port', String(server.port), '--helo', 'client.test'] as const),
      ...['--from', FROM, '--to', HELP, '--attach', `@${pdfFile()}`],
    )
    expect([code, output.includes('552 5.3.4')]).toEqual([26, true])
    expect(server.stored).toHaveLength(0)
  })

  testWith(
    'Postfix',
    whyNoRelay(),
    'relays 8-bit text over STARTTLS, and bounces for the unknown recipient',
    async () => {
      const server = await start({ tls: certificate })
      using relay = await startRelay(server.port)
      await sendMail({ port: relay.port, from: FROM, to: [HELP, UNKNOWN], raw: RAW })
      await until('the queue is empty', () => server.stored.length > 0 && relay.queued() === 0)
      expectOriginal(server)
      expect(server.stored[0]?.envelope.tls).toBe(true)
    },
  )

  testWith('Exim', whyNoExim(), 'relays 8-bit text over STARTTLS, and knows the unknown recipient', async () => {
    const server = await start({ tls: certificate })
    const log = await sendWithExim(server.port, FROM, [HELP, UNKNOWN], RAW)
    expect(log).toContain(`=> ${HELP} R=next T=next`)
    expect(log).toContain(`** ${UNKNOWN} R=next T=next`)
    expect(log).toContain('550 5.1.1 No such mailbox here')
    // It says so of mail in chunks.
    expect(log).toMatch(new RegExp(`=> ${HELP} .* K `))
    expectOriginal(server)
  })

  testWith('Exim', whyNoExim(), 'sends a large message in chunks, beyond the limit of commands', async () => {
    const server = await start({ tls: certificate, max_bytes: 20_000_000, max_commands: 50 })
    const lines = 'nine and a half dozen of words that say nothing\r\n'.repeat(100_000)
    await sendWithExim(server.port, FROM, [HELP], Buffer.concat([RAW, Buffer.from(lines)]))
    expect(server.stored).toHaveLength(1)
    expect(server.stored[0]!.raw.toString().endsWith(`the end\r\n${lines}`)).toBe(true)
  })

  testWith("Python's smtplib", whyNo('python3'), 'sends 8-bit text over STARTTLS and sees refusals', async () => {
    const server = await start({ tls: certificate })
    const script = `
import smtplib, ssl, json, sys
context = ssl.create_default_context(cafile=sys.argv[2])
with smtplib.SMTP('localhost', int(sys.argv[1])) as smtp:
    smtp.starttls(context=context)
    refused = smtp.sendmail(sys.argv[3], sys.argv[4:], sys.stdin.buffer.read(), mail_options=['BODY=8BITMIME'])
print(json.dumps({ address: code for address, (code, _) in refused.items() }))
`
    const options = [String(server.port), certificate.ca_file, FROM, HELP, UNKNOWN]
    const child = Bun.spawn(['python3', '-c', script, ...options], { stdin: RAW, stderr: 'inherit' })
    expect(await new Response(child.stdout).json()).toEqual({ [UNKNOWN]: 550 })
    expectOriginal(server)
    expect(server.stored[0]?.envelope.tls).toBe(true)
  })

  test('nodemailer sends attachments over STARTTLS on one connection, and sees refusals', async () => {
    const server = await start({ tls: certificate })
    const transport = createTransport({
      host: 'localhost',
      port: server.port,
      requireTLS: true,
      pool: true,
      maxConnections: 1,
      tls: { ca: certificate.ca },
    })
    const mail = { from: FROM, to: [HELP, UNKNOWN], text: 'See the report.' }
    const info = await transport.sendMail({ ...mail, attachments: [{ filename: 'report.pdf', content: PDF }] })
    expect([info.accepted, info.rejected]).toEqual([[HELP], [UNKNOWN]])
    await expectReport(server)
    await transport.sendMail({ ...mail, from: { name: 'Änne', address: 'änne@example.test' } })
    expect(server.stored[1]?.envelope.sender).toBe('änne@example.test')
    transport.close()
  })
})
