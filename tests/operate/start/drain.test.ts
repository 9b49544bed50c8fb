/** The end of a service behind a load balancer: it says so first, serves on, and breaks off nothing. */
import { expect, test } from 'bun:test'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createDatabase } from '../../support/database'
import { httpSocket } from '../../support/http-socket'
import { startService, until } from '../../support/service'
import { sendMail, startSession } from '../../support/smtp'

const MAIL = { from: 'ann@example.test', to: 'help@example.com' }
const raw = 'From: ann@example.test\r\nSubject: Hello\r\n\r\nThe printer is on fire.\r\n'

test('SIGTERM: readyz says 503 while requests and mail are served; the next one ends that, and what has begun ends well', async () => {
  const database = await createDatabase()
  const service = await startService({
    DATABASE_URL: database.url,
    SECRET_KEY: 'a secret key that only tests use',
    DATA_DIR: path.join(tmpdir(), `drain-${crypto.randomUUID()}`),
    DRAIN_SECONDS: '600',
    LOG_LEVEL: 'info',
  })
  const port = Number(new URL(service.url).port)
  await service.call('POST', '/mailboxes', { address: MAIL.to })

  using kept = await httpSocket(port)
  expect(await kept.ask('GET /readyz HTTP/1.1')).toStartWith('HTTP/1.1 200')
  using kept_on = await httpSocket(port)
  expect(await kept_on.ask('GET /healthz HTTP/1.1')).not.toMatch(/^connection: close/im)
  using posting = await httpSocket(port)
  const body = JSON.stringify({ name: 'Carla', email: 'carla@customer.example' })
  const head = `authorization: Bearer ${service.token()}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`
  posting.write(`POST /api/v1/contacts HTTP/1.1\r\nhost: localhost\r\n${head}\r\n\r\n${body.slice(0, 10)}`)
  using relay = await startSession(service.smtp_port)
  for (const line of [`MAIL FROM:<${MAIL.from}>`, `RCPT TO:<${MAIL.to}>`, 'DATA']) await relay.command(line)
  relay.write(`${raw}.\r\n`)
  expect(await relay.read()).toStartWith('250')

  service.process.kill('SIGHUP')
  await until('it says what SIGHUP does', () => service.output().includes('there is no certificate to read again'))

  const stopped = service.stop()
  await until('it stops', () => service.output().includes('stopping'))
  const unready = await kept.ask('GET /readyz HTTP/1.1')
  expect(unready).toStartWith('HTTP/1.1 503')
  expect(unready).toMatch(/^connection: close/im)
  expect(await kept.ended).toBe('closed')
  // A client at rest leaves before its next message would be refused.
  expect(await relay.read()).toStartWith('421 4.3.2')
  expect((await sendMail({ ...MAIL, port: service.smtp_port, raw })).code).toBe(250)
  using begun = await startSession(service.smtp_port)
  await begun.command(`MAIL FROM:<${MAIL.from}>`)
  using idle = await startSession(service.smtp_port)
  expect((await service.call('GET', '/mailboxes')).status).toBe(200)

  service.process.kill('SIGTERM')
  expect(await idle.read()).toStartWith('421 4.3.2')
  expect(await kept_on.ended).toBe('closed')
  await expect(startSession(service.smtp_port)).rejects.toThrow()
  expect(await begun.command(`RCPT TO:<${MAIL.to}>`)).toStartWith('250')
  expect(await begun.command('DATA')).toStartWith('354')
  begun.write(`${raw}.\r\n`)
  expect(await begun.read()).toStartWith('250')
  expect(await begun.read()).toStartWith('421 4.3.2')
  posting.write(body.slice(10))
  const created = await posting.read()
  expect(created).toStartWith('HTTP/1.1 201')
  expect(created).toMatch(/^connection: close/im)
  expect(await stopped).toBe(0)
  await database.drop()
})
