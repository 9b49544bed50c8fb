/**
 * Measures mail: messages acknowledged and filed a second, beside the same two libraries that parse it and store
 * nothing, and beside Postfix, where it is installed, that queues it and sends nothing. The service answers a message
 * once it is durable, and files it later. Processor time and the peak of memory count until it is filed.
 */

import { freePort } from '../support/ports'
import { type Relay, startRelay, whyNoRelay } from '../support/postfix'
import { type Cpu, cpuOf, cpuOfEach, type Memory, treeOf } from './processes'
import { type Aim, aimText, cpuText, printHead, printTable, rounded, verdict } from './report'
import type { Rig } from './rig'
import { loadPlace, untilFiled } from './settled'
import { SMTP_GENERATOR, type SmtpLoad, sendSmtpLoad, writeBody } from './smtp-load'
import { tenantMailbox } from './volume/tenants'

const MESSAGES = Number(process.env.BENCH_MESSAGES ?? 4000)
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3)
const SMALL_BYTES = 5000
const LARGE_BYTES = 500_000
const HUGE_BYTES = 25_000_000
/** Texts of a mail in plain text that are kept: body, HTML and reply, of the message and in its event. */
const KEPT_TEXTS = 6
/** Mail that Postfix accepts stays in its queue, and is not tried again beside the work that is measured later. */
const STAYS_QUEUED = {
  defer_transports: 'smtp',
  queue_run_delay: '1d',
  minimal_backoff_time: '1d',
  maximal_backoff_time: '1d',
}
/** Between two looks at the memory, each of which takes 10 ms of a processor. */
const WATCH_MS = 200

type Row = {
  name: string
  load: Omit<SmtpLoad, 'port' | 'recipient'>
  cpu?: Aim
  /** The filed mails, as a share of what Postfix queues. */
  beside_postfix?: Aim
  /** The figures of the service, with its processes. Taken in one round. */
  peak_mb?: Aim
}

const ROWS: Row[] = [
  {
    name: '5 kB, 20 sessions',
    load: { messages: MESSAGES, bytes: SMALL_BYTES, sessions: 20, connections: 'kept' },
    cpu: { at_most: 2.4 },
    beside_postfix: { at_least: 0.75 },
  },
  {
    name: '5 kB of words, 20 sessions',
    load: { messages: MESSAGES / 2, bytes: SMALL_BYTES, sessions: 20, connections: 'kept', content: 'words' },
  },
  {
    name: '5 kB, 1 session',
    load: { messages: MESSAGES / 4, bytes: SMALL_BYTES, sessions: 1, connections: 'kept' },
    beside_postfix: { at_least: 0.75 },
  },
  {
    name: '500 kB of words, 20 sessions',
    load: { messages: MESSAGES / 40, bytes: LARGE_BYTES, sessions: 20, connections: 'kept', content: 'words' },
    cpu: { at_most: 15 },
  },
  {
    name: '500 kB of words in HTML, 20 sessions',
    load: { messages: MESSAGES / 40, bytes: LARGE_BYTES, sessions: 20, connections: 'kept', content: 'HTML' },
    cpu: { at_most: 25 },
  },
  {
    name: '5 kB, 1 session, a new connection for each',
    load: { messages: Math.ceil(MESSAGES / 80), bytes: SMALL_BYTES, sessions: 1, connections: 'new' },
  },
  {
    name: '24 of 25 MB, 4 sessions',
    load: { messages: 24, bytes: HUGE_BYTES, sessions: 4, connections: 'kept' },
    cpu: { at_most: 3000 },
    peak_mb: { at_most: 400 },
  },
]

type Measured = {
  acknowledged_per_s: number
  filed_per_s: number
  cpu: Cpu
  generator_ms: number
  peak: Memory | undefined
}

/** Whoever takes mail: where it listens, what it has used of the processor, and when it is done with what it took. */
type Taker = { port: number; cpu(): Cpu; memory?(): Memory; done(): Promise<void> | undefined }

export async function benchMail(rig: Rig): Promise<void> {
  const place = loadPlace(rig.sizes)
  printHead(`Mail to an organization of ${rig.sizes[place - 1]} tickets, ${SMTP_GENERATOR}`)
  const missing = whyNoRelay()
  if (missing) console.log(`Without the rows of Postfix: ${missing}\n`)
  using postfix = missing ? undefined : await startRelay(await freePort(), STAYS_QUEUED)
  const printed = []
  for (const row of ROWS) printed.push(...(await measureRow(rig, tenantMailbox(place), row, postfix)))
  const header = ['Mail', 'acknowledged per s', 'filed per s', 'bare per s', 'ratio filed', 'aim', '']
  printTable(
    [...header, 'CPU ms service + database', 'aim', '', 'bare CPU ms', 'CPU ms generator', 'peak MB', ''],
    printed,
  )
  const database_ms = rounded(await insertTexts(rig, writeBody({ bytes: LARGE_BYTES, content: 'words' })))
  console.log(
    `\nPostgreSQL alone takes ${database_ms} ms to insert ${KEPT_TEXTS} texts of 500 kB of words, which a mail of it has.`,
  )
}

/** @returns processor time of the database for the texts of a mail */
async function insertTexts(rig: Rig, text: string): Promise<number> {
  const before = rig.cpu('service')
  const texts = text.repeat(KEPT_TEXTS)
  for (let mail = 0; mail < 20; mail++)
    await rig.sql`insert into bench_commits values (${crypto.randomUUID()}, ${texts})`
  return cpuOfEach(before, rig.cpu('service'), 20).database_ms
}

/** @returns the row of the product, and that of Postfix */
async function measureRow(rig: Rig, recipient: string, row: Row, postfix?: Relay): Promise<string[][]> {
  const turns: { product: Measured; bare: Measured; queued: Measured | undefined }[] = []
  const load = { ...row.load, recipient }
  for (let round = 0; round < (row.peak_mb ? 1 : ROUNDS); round++) {
    const product = await measure(ourTaker(rig, row.peak_mb ? 'watched' : undefined), load)
    const bare = await measure(bareTaker(rig), load)
    turns.push({ product, bare, queued: postfix && row.beside_postfix && (await measure(takerOf(postfix), load)) })
  }
  turns.sort((a, b) => a.product.filed_per_s - b.product.filed_per_s)
  const { product, bare, queued } = turns[Math.floor(turns.length / 2)]!
  const cells = [
    row.name,
    rounded(product.acknowledged_per_s),
    rounded(product.filed_per_s),
    rounded(bare.acknowledged_per_s),
    rounded(product.filed_per_s / bare.acknowledged_per_s),
    ...['', ''],
    cpuText(product.cpu),
    aimText(row.cpu),
    verdict(`mail, ${row.name}, processor time`, product.cpu.service_ms + product.cpu.database_ms, row.cpu),
    rounded(bare.cpu.service_ms),
    rounded(product.generator_ms),
    product.peak ? `${rounded(product.peak.service_mb)}, aim ${aimText(row.peak_mb)}` : '',
    product.peak ? verdict(`mail, ${row.name}, peak of memory`, product.peak.service_mb, row.peak_mb) : '',
  ]
  return queued ? [cells, postfixCells(row, product, queued)] : [cells]
}

/** Postfix in the place of the bare limit: its queue against our tickets. */
function postfixCells(row: Row, product: Measured, queued: Measured): string[] {
  const ratio = product.filed_per_s / queued.acknowledged_per_s
  return [
    '- the same, beside Postfix that queues it',
    rounded(product.acknowledged_per_s),
    rounded(product.filed_per_s),
    rounded(queued.acknowledged_per_s),
    rounded(ratio),
    aimText(row.beside_postfix),
    verdict(`mail, ${row.name}, beside Postfix`, ratio, row.beside_postfix),
    ...['', '', ''],
    rounded(queued.cpu.service_ms),
    rounded(queued.generator_ms),
    ...['', ''],
  ]
}

/** @param memory `watched`: its peak is measured */
function ourTaker(rig: Rig, memory?: 'watched'): Taker {
  const taker = { port: rig.service.smtp_port, cpu: () => rig.cpu('service'), done: () => untilFiled(rig.sql) }
  return memory ? { ...taker, memory: () => rig.memory() } : taker
}

function bareTaker(rig: Rig): Taker {
  return { port: rig.bare.smtp_port, cpu: () => rig.cpu('bare SMTP'), done: () => undefined }
}

function takerOf({ port, pid }: Relay): Taker {
  return { port, cpu: () => cpuOf(treeOf(pid), []), done: () => undefined }
}

async function measure({ port, cpu, memory, done }: Taker, given: Omit<SmtpLoad, 'port'>): Promise<Measured> {
  const load = { ...given, port }
  await sendSmtpLoad({ ...load, messages: Math.max(load.sessions, Math.ceil(load.messages / 20)) })
  await done()
  const before = cpu()
  let peak = memory?.()
  const watch = setInterval(() => {
    const now = memory?.()
    if (now && peak && now.service_mb > peak.service_mb) peak = now
  }, WATCH_MS)
  const started_ms = performance.now()
  const { seconds, generator_ms } = await sendSmtpLoad(load)
  await done()
  const filed_s = (performance.now() - started_ms) / 1000
  clearInterval(watch)
  return {
    acknowledged_per_s: load.messages / seconds,
    filed_per_s: load.messages / filed_s,
    cpu: cpuOfEach(before, cpu(), load.messages),
    generator_ms,
    peak,
  }
}
