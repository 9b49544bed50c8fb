/** The temporary file of exports: read while it is written, without a name, gone in any case. */
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Spool } from '../../../src/base/disk/spool'

const folder = path.join(mkdtempSync(path.join(tmpdir(), 'spool-')), 'inner')
afterAll(() => rmSync(path.dirname(folder), { recursive: true }))

const bytes = (text: string) => new TextEncoder().encode(text)

async function textOf(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const all: Uint8Array[] = []
  for await (const chunk of chunks) all.push(chunk)
  return Buffer.concat(all).toString()
}

test('what is written is read from the first byte, also what comes later', async () => {
  const spool = await Spool.open(folder)
  const long = 'ä'.repeat(100_000)
  await spool.write(bytes('first '))
  const reading = textOf(spool.read())
  await spool.write(bytes(long))
  spool.end()
  expect(await reading).toBe(`first ${long}`)
  expect(await textOf(spool.read())).toBe(`first ${long}`)
  await spool.close()
})

test('the folder is only for the user of the process, and shows no file', async () => {
  const spool = await Spool.open(folder)
  await spool.write(bytes('secret'))
  expect(statSync(folder).mode & 0o777).toBe(0o700)
  expect(readdirSync(folder)).toEqual([])
  await spool.close()
})

test('a reader gets what was written, then the failure of the writer', async () => {
  const spool = await Spool.open(folder)
  await spool.write(bytes('part'))
  const chunks = spool.read()
  expect(Buffer.from((await chunks.next()).value!).toString()).toBe('part')
  spool.fail(new Error('the database went away'))
  await expect(chunks.next()).rejects.toThrow('the database went away')
  await spool.close()
})

test('a closed file ends its writer and its reader, in the middle of their work too', async () => {
  const spool = await Spool.open(folder)
  await spool.write(bytes('part'))
  const waiting = textOf(spool.read()).catch(({ message }) => message)
  const writing = spool.write(bytes('x'.repeat(1_000_000)))
  await Promise.all([spool.close(), spool.close(), writing.catch(() => {})])
  expect(await waiting).toContain('closed')
  await expect(spool.write(bytes('more'))).rejects.toThrow('closed')
})
