/** S3 goes away while requests and mail need it, and comes back. */
import { afterAll, beforeAll, expect, spyOn, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { register } from 'prom-client'
import S3rver from 's3rver'
import { log } from '../../../src/base/log'
import { fileStore } from '../../../src/desk/attachments/storage'
import { answerOf, namingFaults } from '../../../src/desk/attachments/store-faults'
import { createOrganization, startApi, stopApi } from '../../support/api'
import { formOf, uploadFile } from '../../support/factories'
import { createMailbox, rawMail, startListener } from '../../support/mail'
import { freePort } from '../../support/ports'
import { type ChangedSettings, withSettings } from '../../support/settings'
import { sendMail } from '../../support/smtp'

let folder: string
let port: number
let server: S3rver | undefined
let settings: ChangedSettings

async function startS3(): Promise<void> {
  server = new S3rver({
    port,
    address: '127.0.0.1',
    silent: true,
    directory: folder,
    configureBuckets: [{ name: 'desk', configs: [] }],
  })
  await server.run()
}

async function stopS3(): Promise<void> {
  await server?.close()
  server = undefined
}

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'store-faults-'))
  port = await freePort()
  settings = withSettings({
    ATTACHMENT_STORE: 's3://desk/prefix',
    S3_ENDPOINT: `http://127.0.0.1:${port}`,
    S3_REGION: 'us-east-1',
    S3_ACCESS_KEY_ID: 'S3RVER',
    S3_SECRET_ACCESS_KEY: 'S3RVER',
  })
  await startS3()
  await startApi()
})
afterAll(async () => {
  settings.restore()
  await stopApi()
  await stopS3()
  await rm(folder, { recursive: true })
})

test('while S3 is away uploads and downloads get 503, mail 451, the log and a figure name it; then all works again', async () => {
  const { agent, admin } = await createOrganization()
  const { id } = await uploadFile(agent, 'hello', 'hello.txt')
  const { address } = await createMailbox(admin)
  const listener = await startListener()
  const mail = {
    port: listener.port,
    from: 'carla@customer.example',
    to: address,
    raw: rawMail({ From: 'carla@customer.example', To: address, Subject: 'Printer' }),
  }
  await stopS3()
  using logged = spyOn(log, 'error').mockImplementation(() => {})

  const upload = await agent.post('/attachments', formOf('hello', 'hello.txt'))
  expect([upload.status, upload.body.error.code, upload.headers.get('retry-after')]).toEqual([
    503,
    'SERVICE_UNAVAILABLE',
    '5',
  ])
  expect(upload.body.error.details.reason).toBe('Files cannot be stored or read at the moment')
  expect((await agent.get(`/attachments/${id}/content`)).status).toBe(503)
  expect((await sendMail(mail)).code).toBe(451)
  expect(logged.mock.calls.map(([line]) => line)).toContainEqual(
    expect.objectContaining({
      lost: 'S3',
      error: expect.objectContaining({
        code: 'S3_UNAVAILABLE',
        cause: expect.objectContaining({ code: 'ConnectionRefused' }),
      }),
    }),
  )
  const figures = await register.getSingleMetricAsString('deskwire_store_failures_total')
  expect(figures).toContain('{store="s3",operation="put"} 2')
  expect(figures).toContain('{store="s3",operation="open"} 1')

  await startS3()
  expect((await agent.post('/attachments', formOf('hello', 'hello.txt'))).status).toBe(201)
  expect((await agent.get(`/attachments/${id}/content`)).text).toBe('hello')
  expect((await sendMail(mail)).code).toBe(250)
  await listener.close({ timeout_ms: 0 })
})

test('an S3 that does not answer is away; bytes that are missing, or break off, are not its fault', async () => {
  const files = fileStore(path.join(folder, 'files'))
  const silent = namingFaults({ ...files, read: () => answerOf(new Promise<never>(() => {}), 1) }, 's3')
  await expect(silent.read('attachments/one')).rejects.toMatchObject({ code: 'S3_UNAVAILABLE' })
  const whole = namingFaults(files, 'file')
  await expect(whole.read('attachments/none')).rejects.toMatchObject({ code: 'ENOENT' })
  const broken = async function* () {
    yield new Uint8Array(1)
    throw new Error('the sender went away')
  }
  await expect(whole.put('attachments/two', broken())).rejects.toThrow('the sender went away')
})
