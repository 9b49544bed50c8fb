/**
 * `BACKUP_GB=20 bun run bench backup`: what a base copy costs those who work meanwhile, how long it takes, and how long
 * a restore takes. A tenth of the bytes is attachments, the rest the database. Bytes are random hexadecimal digits,
 * which compress to a half. The disk needs twice BACKUP_GB: what was copied is removed before the restore. Settings:
 * BACKUP_GB (2), BACKUP_SECONDS (60) alone; BACKUP_PASSPHRASE encrypts.
 */
import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { runCli } from '../support/backups'
import { inDatabase, objectsIn, readBackupState, SECRET_KEY } from '../support/continuous'
import { type Service, startService } from '../support/service'
import { cpuOf, treeOf } from './processes'
import { printHead, printUnmet, rounded, verdict } from './report'

const GB = Number(process.env.BACKUP_GB ?? 2)
const ALONE_S = Number(process.env.BACKUP_SECONDS ?? 60)
/** Requests come at this distance, whether those before are answered or not. */
const EVERY_MS = 40
const FILE_BYTES = 10_000_000
const MOST_TIMES = 1.5
/** Requests before the first that counts, and between interim figures. */
const WARM_UP = 250
const REPORT_EVERY = 1500

const dir = process.env.TMPDIR!
const [DATA_DIR, BACKUP_TO, restored] = ['data', 'backup', 'restored'].map((name) => path.join(dir, name)) as [
  string,
  string,
  string,
]
const { BACKUP_PASSPHRASE = '' } = process.env
const settings = { SECRET_KEY, BACKUP_PASSPHRASE, BACKUP_VERIFY: 'off', DATA_DIR }

const filled_gb = await fill()
console.log(`filled: ${rounded(filled_gb)} GB`)
await measureCopy()
await measureRestore()
printUnmet()
process.exit(0)

/** @returns how large the database is, in GB */
async function fill(): Promise<number> {
  const service = await startOwn()
  const id = await newTicket(service, 'Large')
  for (let n = 0; n < (GB * 1e8) / FILE_BYTES; n++) await addFile(service, id)
  const size = await inDatabase(DATA_DIR, async (sql) => {
    // Without triggers, and without a try to compress what cannot be.
    await sql`set session_replication_role = replica`
    await sql`set synchronous_commit = off`
    await sql`alter table messages alter column body set storage external`
    await sql`create temporary table blocks as select n, (
      select string_agg(md5(n || ' ' || i), '') from generate_series(1, 2048) i) as text from generate_series(1, 1000) n`
    for (;;) {
      const [{ bytes }] = await sql<[{ bytes: number }]>`select pg_database_size(current_database())::float8 as bytes`
      if (bytes > GB * 9e8) return bytes / 1e9
      await sql`
        insert into messages (organization_id, id, ticket_id, body, body_html, sender_name, is_internal)
        select organization_id, gen_random_uuid(), id, text, '', 'Carla', true from blocks, (select * from tickets limit 1) t`
    }
  })
  for (let n = 0; n < 200; n++) await newTicket(service, `Ticket ${n}`)
  await inDatabase(DATA_DIR, async (sql) => {
    // Else the server does it during the measurement, and writes all pages to its log once more.
    await sql`vacuum (freeze, analyze)`
    await sql`checkpoint`
  })
  await service.stop()
  return size
}

function startOwn(more: Record<string, string> = {}): Promise<Service> {
  return startService({ ...settings, ...more }).then((service) => {
    process.once('exit', () => service.process.kill('SIGKILL'))
    return service
  })
}

async function newTicket({ call }: Service, subject: string): Promise<string> {
  const contact = await call('POST', '/contacts', { name: 'Carla', email: `${crypto.randomUUID()}@customer.example` })
  const made = await call('POST', '/tickets', { subject, contact_id: contact.body.data.id })
  return made.body.data.id
}

async function addFile(service: Service, ticket_id: string): Promise<void> {
  const form = new FormData()
  form.set('file', new File([randomBytes(FILE_BYTES / 2).toString('hex')], 'picture.bin'))
  const headers = { authorization: `Bearer ${service.token()}` }
  const response = await fetch(`${service.url}/api/v1/attachments`, { method: 'POST', headers, body: form })
  const { data } = (await response.json()) as { data: { id: string } }
  const note = { body: 'A file', is_internal: true, attachment_ids: [data.id] }
  const { status } = await service.call('POST', `/tickets/${ticket_id}/messages`, note)
  if (status !== 201) throw new Error(`a message with a file is answered ${status}`)
}

async function measureCopy(): Promise<void> {
  printHead(`One request each ${EVERY_MS} ms beside a base copy of ${rounded(filled_gb)} GB`)
  let end_ms = performance.now()
  const before = await startOwn()
  const alone = await load(before, () => performance.now() > end_ms + ALONE_S * 1000)
  await before.stop()
  const service = await startOwn({ BACKUP_TO })
  end_ms = performance.now()
  const cpu = () => cpuOf(treeOf(service.process.pid!), treeOf(service.process.pid!))
  const cpu_before = cpu()
  const beside = await load(service, () => readBackupState(DATA_DIR)?.last_base !== undefined)
  const took_s = (performance.now() - end_ms) / 1000
  const { service_ms, database_ms } = cpu()
  print(alone, beside)
  const bytes = objectsIn(BACKUP_TO).reduce((sum, name) => sum + fs.statSync(path.join(BACKUP_TO, name)).size, 0)
  const used = (service_ms + database_ms - cpu_before.service_ms - cpu_before.database_ms) / took_s / 10
  console.log(`\nThe copy took ${rounded(took_s)} s and has ${rounded(bytes / 1e9)} GB.`)
  console.log(`Service and database used ${rounded(used)} % of a processor, the requests included.`)
  await service.kill()
}

/** Returns a percentile of the times. */
function share(times: number[], of: number): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * of)]!
}

function textOf(times: number[]): string {
  return `${times.length} requests, p50 ${rounded(share(times, 0.5))} ms, p99 ${rounded(share(times, 0.99))} ms`
}

function print(alone: number[], beside: number[]): void {
  console.log(`alone: ${textOf(alone)}\nbeside the copy: ${textOf(beside)}`)
  const times = share(beside, 0.99) / share(alone, 0.99)
  console.log(`p99: ${rounded(times)} times, ${verdict('p99 beside a base copy', times, { at_most: MOST_TIMES })}`)
}

/**
 * Reads and writes at a constant distance.
 * @returns milliseconds of each answer, those of the first seconds left out
 */
async function load(service: Service, isEnough: () => boolean): Promise<number[]> {
  const { body } = await service.call('POST', '/contacts', { name: 'Carla', email: `${crypto.randomUUID()}@x.example` })
  const { body: made } = await service.call('POST', '/api-keys', {
    name: 'Load',
    permissions: ['tickets:read', 'tickets:write'],
  })
  const { body: list } = await service.call('GET', '/tickets')
  const headers = { authorization: `ApiKey ${made.data.key}`, 'content-type': 'application/json' }
  const send = (method: string, rest: string, body?: unknown) =>
    fetch(`${service.url}/api/v1/tickets${rest}`, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
    })
  const kinds = [
    () => send('GET', ''),
    (n: number) => send('GET', `/${list.data[n % list.data.length].id}`),
    (n: number) => send('POST', '', { subject: `Ticket ${n}`, contact_id: body.data.id }),
  ]
  let refused = 0
  const times: number[] = []
  const open = new Set<Promise<void>>()
  const started_ms = performance.now()
  for (let n = 0; n < WARM_UP || !isEnough(); n++) {
    const sent_ms = performance.now()
    const asked = kinds[n % kinds.length]!(n).then(async (answer) => {
      await answer.arrayBuffer()
      if (answer.status > 299) refused++
      if (n >= WARM_UP) times.push(performance.now() - sent_ms)
    })
    open.add(asked)
    void asked.finally(() => open.delete(asked))
    if (n % REPORT_EVERY === 0 && n > WARM_UP) console.log(`interim: ${textOf(times.slice(-REPORT_EVERY))}`)
    await Bun.sleep(started_ms + (n + 1) * EVERY_MS - performance.now())
  }
  await Promise.all(open)
  if (refused > 0) console.log(`${refused} requests were refused`)
  return times
}

/** On one disk the source, the copy and the restore may not have room together. */
async function measureRestore(): Promise<void> {
  printHead('Restore')
  // The database of the killed service may still remove files of its own.
  fs.renameSync(DATA_DIR, `${DATA_DIR}-lost`)
  fs.rmSync(`${DATA_DIR}-lost`, { recursive: true, force: true })
  const started_ms = performance.now()
  const env = { SECRET_KEY, BACKUP_PASSPHRASE, DATA_DIR: restored }
  const { code, stdout, stderr } = await runCli(['restore', BACKUP_TO], env)
  if (code !== 0) throw new Error(stderr)
  const restored_s = (performance.now() - started_ms) / 1000
  const service = await startService(env)
  const { body } = await service.call('GET', '/tickets')
  console.log(
    `${stdout.trim()}\nThe restore took ${rounded(restored_s)} s; the service has ${body.meta.total} tickets.`,
  )
  await service.stop()
}
