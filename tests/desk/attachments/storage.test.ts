import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { S3Client } from 'bun'
import S3rver from 's3rver'
import { fileStore, s3Store } from '../../../src/desk/attachments/storage'
import type { Bytes, Store } from '../../../src/desk/attachments/store'

let folder: string
let server: S3rver
const stores: Record<string, Store> = {}

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'deskwire-storage-'))
  const directory = path.join(folder, 'buckets')
  server = new S3rver({
    port: 0,
    address: '127.0.0.1',
    silent: true,
    directory,
    configureBuckets: [{ name: 'desk', configs: [] }],
  })
  const { port } = await server.run()
  const client = new S3Client({
    bucket: 'desk',
    endpoint: `http://127.0.0.1:${port}`,
    region: 'us-east-1',
    accessKeyId: 'S3RVER',
    secretAccessKey: 'S3RVER',
  })
  stores.file = fileStore(path.join(folder, 'files'))
  stores.s3 = s3Store(client, 'some/prefix')
})

afterAll(async () => {
  await server.close()
  await rm(folder, { recursive: true })
})

const BOTH = ['file', 's3']
const HELLO = Buffer.from('hello')

test.each(BOTH)('%s: bytes come back as they went in, with their size and SHA-256', async (name) => {
  const store = stores[name]!
  const stored = await store.put('attachments/whole', HELLO)
  expect(stored).toEqual({ size: 5, digest: createHash('sha256').update('hello').digest('hex') })
  expect(await textOf(store, 'attachments/whole')).toBe('hello')
  expect(await textOf(store, 'attachments/whole', { start: 1, end: 3 })).toBe('ell')
})

test.each(BOTH)('%s: nothing is something too', async (name) => {
  const store = stores[name]!
  expect(await store.put('attachments/empty', new Uint8Array())).toMatchObject({ size: 0 })
  expect(await textOf(store, 'attachments/empty')).toBe('')
})

test.each(BOTH)('%s: a stream of many parts comes back whole', async (name) => {
  const store = stores[name]!
  const sent = createHash('sha256')
  const bytes = async function* () {
    for (let index = 0; index < 200; index++) {
      const chunk = crypto.getRandomValues(new Uint8Array(65_536))
      sent.update(chunk)
      yield chunk
    }
  }
  const stored = await store.put('inbound/large', bytes())
  const received = createHash('sha256')
  for await (const chunk of await store.open('inbound/large')) received.update(chunk)
  const digest = sent.digest('hex')
  expect(stored).toEqual({ size: 200 * 65_536, digest })
  expect(received.digest('hex')).toBe(digest)
})

test.each(BOTH)('%s: a stream that breaks off leaves nothing, and its error is passed on', async (name) => {
  const store = stores[name]!
  const broken = async function* () {
    for (let index = 0; index < 100; index++) yield new Uint8Array(65_536)
    throw new Error('the sender went away')
  }
  await expect(store.put('attachments/broken', broken())).rejects.toThrow('the sender went away')
  await expect(store.open('attachments/broken')).rejects.toThrow()
})

test.each(BOTH)('%s: what is removed is gone, and may be removed again', async (name) => {
  const store = stores[name]!
  await store.put('attachments/removed', HELLO)
  await store.remove('attachments/removed')
  await expect(store.open('attachments/removed')).rejects.toThrow()
  await store.remove('attachments/removed')
})

test('file: a file under its name is whole; until then it has another', async () => {
  const store = fileStore(path.join(folder, 'partial'))
  const seen: string[][] = []
  const bytes = async function* () {
    // A small first piece waits for the second one.
    yield HELLO
    yield HELLO
    seen.push(await readdir(path.join(folder, 'partial', 'attachments')))
  }
  await store.put('attachments/one', bytes() satisfies Bytes)
  seen.push(await readdir(path.join(folder, 'partial', 'attachments')))
  expect(seen).toEqual([['one.partial'], ['one']])
})

test('file: a stream that breaks off leaves no file of any name', async () => {
  const store = fileStore(path.join(folder, 'broken'))
  const broken = async function* () {
    yield HELLO
    yield HELLO
    throw new Error('the sender went away')
  }
  await expect(store.put('attachments/one', broken())).rejects.toThrow('the sender went away')
  expect(await readdir(path.join(folder, 'broken', 'attachments'))).toEqual([])
})

test('file: what a crash left of an upload goes when its key is removed', async () => {
  const store = fileStore(path.join(folder, 'crashed'))
  await Bun.write(path.join(folder, 'crashed', 'attachments', 'one.partial'), 'hel')
  await store.remove('attachments/one')
  expect(await readdir(path.join(folder, 'crashed', 'attachments'))).toEqual([])
})

async function textOf(store: Store, key: string, range?: { start: number; end: number }): Promise<string> {
  return new Response(await store.open(key, range)).text()
}
