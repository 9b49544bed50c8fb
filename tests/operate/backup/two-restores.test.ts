/** Two restores at once into one place: the second is refused, and harms nothing of the first. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import postgres from 'postgres'
import { backUp } from '../../../src/operate/backup/back-up'
import { restore } from '../../../src/operate/backup/restore'
import { createOrganization, startApi, stopApi } from '../../support/api'
import { EmptyDatabases, runHere, startCli } from '../../support/backups'
import type { TestDatabase } from '../../support/database'
import { until } from '../../support/service'
import { createWorld } from '../../support/world'

const SECRET_KEY = 'a secret key that only tests use'

let source: TestDatabase
let empty: EmptyDatabases
let base: string

beforeAll(async () => {
  base = fs.mkdtempSync(path.join(os.tmpdir(), 'restores-'))
  fs.chmodSync(base, 0o711)
  source = await startApi()
  empty = new EmptyDatabases(source.url)
  await createWorld(await createOrganization())
})

afterAll(async () => {
  await stopApi()
  await empty.drop()
  fs.rmSync(base, { recursive: true, force: true })
})

test('the second restore is refused, into one DATA_DIR or only into one database', async () => {
  const backup = path.join(base, 'backup')
  await runHere({ DATABASE_URL: source.url, SECRET_KEY, DATA_DIR: process.env.DATA_DIR! }, () => backUp(backup))
  const DATABASE_URL = await empty.create()
  const place = { DATABASE_URL, SECRET_KEY, DATA_DIR: path.join(base, 'data') }
  const elsewhere = { ...place, DATA_DIR: path.join(base, 'elsewhere') }
  const blocker = postgres(DATABASE_URL, { max: 1, onnotice: () => {} })
  const watcher = postgres(DATABASE_URL, { max: 1 })
  // The first migration makes this extension, and waits for who makes it already.
  await blocker`begin`
  await blocker`create extension pg_trgm`
  const first = startCli(['restore', backup], place)
  await until('the first restore fills the database', async () => {
    const waiting = await watcher`
      select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    return waiting.length > 0
  })
  await expect(runHere(place, () => restore(backup))).rejects.toThrow('another restore is at work in DATA_DIR')
  await expect(runHere(elsewhere, () => restore(backup))).rejects.toThrow(
    'another restore into this database is at work',
  )
  expect(fs.readdirSync(elsewhere.DATA_DIR)).toEqual([])
  await blocker`rollback`
  expect(await first.ended).toMatchObject({ code: 0, stderr: '' })
  // A message that waits in it may have been sent since.
  expect(fs.readdirSync(place.DATA_DIR).toSorted()).toEqual(['attachments', 'outbox-waits'])
  expect(await watcher`select 1 from organizations`).toHaveLength(1)
  await expect(runHere(place, () => restore(backup))).rejects.toThrow('is not empty: it holds attachments')
  await Promise.all([blocker.end(), watcher.end()])
})
