/** Keeps data sets in folders: a DATA_DIR of the product for each list of sizes, made once for a schema. */
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { NO_LIMITS } from '../../../src/base/db/driver-client'
import { grantToService } from '../../../src/base/db/embedded/service-role'
import { startEmbedded } from '../../../src/base/db/embedded/supervise'
import { migrateDatabase } from '../../../src/base/db/migrate'
import { closeDatabase, connectDatabase, connection } from '../../../src/base/db/pool'
import { urlOf } from '../../support/database'
import { freePort } from '../../support/ports'
import { fillDatabase, readSizes } from './fill'

/** Nothing of this is kept after a crash: an unfinished data set is made anew. The small log makes copies small. */
const FILL_SETTINGS = {
  fsync: 'off',
  full_page_writes: 'off',
  synchronous_commit: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_wal_size: '512MB',
}

const ROOT = path.join(import.meta.dirname, '../../..')
/** A change of any of these files makes data sets of before outdated. */
const SOURCES = ['drizzle/*.sql', 'tests/bench/volume/*.ts', 'src/desk/search/*.ts', 'src/desk/custom/*.ts']

/**
 * Makes the data set in this folder, unless it is there.
 * @param sizes as `readSizes` takes them
 * @param when `anew` makes it in any case
 */
export async function makeDataSet(data_dir: string, sizes: string, when: 'once' | 'anew'): Promise<void> {
  // A DATA_DIR holds nothing else: the mark is beside it.
  const mark = `${data_dir}.filled`
  const fingerprint = fingerprintOf(sizes)
  const is_there = fs.existsSync(mark) && fs.readFileSync(mark, 'utf8') === fingerprint
  if (is_there && when === 'once') return
  console.log(`making the data set ${sizes} in ${data_dir}`)
  fs.rmSync(mark, { force: true })
  fs.rmSync(data_dir, { recursive: true, force: true })
  await fillFolder(data_dir, readSizes(sizes))
  fs.writeFileSync(mark, fingerprint)
}

async function fillFolder(data_dir: string, sizes: number[]): Promise<void> {
  const port = await freePort()
  const settings = { ...FILL_SETTINGS, listen_addresses: '127.0.0.1', port: String(port) }
  const server = await startEmbedded(data_dir, { settings })
  try {
    const url = urlOf(server.connection, port)
    await migrateDatabase(url)
    connectDatabase(url, 4, { limits: NO_LIMITS })
    await grantToService(connection().sql, server.connection)
    await fillDatabase(url, connection(), sizes)
    await closeDatabase()
  } finally {
    await server.stop()
  }
}

function fingerprintOf(sizes: string): string {
  const hash = createHash('sha256').update(sizes)
  const files = SOURCES.flatMap((pattern) => [...new Bun.Glob(pattern).scanSync(ROOT)]).sort()
  for (const file of files) hash.update(fs.readFileSync(path.join(ROOT, file)))
  return hash.digest('hex')
}
