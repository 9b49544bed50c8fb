/**
 * Measures mail: messages acknowledged and filed a second, beside the same two libraries that parse it and store
 * nothing. The service answers a message once it is durable, and files it later. Processor time counts until it is
 * filed.
 */
import { type Cpu, cpuOfEach } from './processes'
import { type Aim, aimText, cpuText, printHead, printTable, rounded, verdict } from './report'
import type { Rig, Side } from './rig'
import { loadPlace, untilFiled } from './settled'
import { SMTP_GENERATOR, type SmtpLoad, sendSmtpLoad } from './smtp-load'
import { tenantMailbox } from './volume/tenants'

const MESSAGES = Number(process.env.BENCH_MESSAGES ?? 4000)
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3)
const SMALL_BYTES = 5000
const LARGE_BYTES = 500_000

type Row = {
  name: string
  load: Omit<SmtpLoad, 'port' | 'recipient'>
  /** Share of the bare limit that is filed. */
  ratio?: Aim
  /** Acknowledged messages a second. */
  per_s?: Aim
  cpu?: Aim
}

const ROWS: Row[] = [
  {
    name: '5 kB, 20 sessions',
    load: { messages: MESSAGES, bytes: SMALL_BYTES, sessions: 20, connections: 'kept' },
    ratio: { at_least: 0.35 },
    cpu: { at_most: 3.5 },
  },
  {
    name: '5 kB, 1 session',
    load: { messages: MESSAGES / 4, bytes: SMALL_BYTES, sessions: 1, connections: 'kept' },
    per_s: { at_least: 250 },
  },
  {
    name: '500 kB text, 20 sessions',
    load: { messages: MESSAGES / 20, bytes: LARGE_BYTES, sessions: 20, connections: 'kept' },
    ratio: { at_least: 0.4 },
    cpu: { at_most: 20 },
  },
  {
    name: '5 kB, 1 session, a new connection for each',
    load: { messages: MESSAGES / 20, bytes: SMALL_BYTES, sessions: 1, connections: 'new' },
    per_s: { at_least: 100 },
  },
]

type Measured = { acknowledged_per_s: number; filed_per_s: number; cpu: Cpu; generator_ms: number }

export async function benchMail(rig: Rig): Promise<void> {
  const place = loadPlace(rig.sizes)
  printHead(`Mail to an organization of ${rig.sizes[place - 1]} tickets, ${SMTP_GENERATOR}`)
  const printed = []
  for (const row of ROWS) printed.push(await measureRow(rig, tenantMailbox(place), row))
  const header = ['Mail', 'acknowledged per s', 'filed per s', 'bare per s', 'ratio filed', 'aim', '']
  printTable([...header, 'CPU ms service + database', 'aim', '', 'bare CPU ms', 'CPU ms generator'], printed)
}

async function measureRow(rig: Rig, recipient: string, row: Row): Promise<string[]> {
  const turns: { product: Measured; bare: Measured }[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const product = await measure(rig, 'service', { ...row.load, recipient, port: rig.service.smtp_port })
    const bare = await measure(rig, 'bare SMTP', { ...row.load, recipient, port: rig.bare.smtp_port })
    turns.push({ product, bare })
  }
  turns.sort((a, b) => a.product.filed_per_s - b.product.filed_per_s)
  const { product, bare } = turns[Math.floor(turns.length / 2)]!
  const ratio = product.filed_per_s / bare.acknowledged_per_s
  const aim = row.ratio ?? row.per_s
  return [
    row.name,
    rounded(product.acknowledged_per_s),
    rounded(product.filed_per_s),
    rounded(bare.acknowledged_per_s),
    rounded(ratio),
    aimText(aim) + (row.per_s ? ' per s' : ''),
    verdict(`mail, ${row.name}`, row.ratio ? ratio : product.acknowledged_per_s, aim),
    cpuText(product.cpu),
    aimText(row.cpu),
    verdict(`mail, ${row.name}, processor time`, product.cpu.service_ms + product.cpu.database_ms, row.cpu),
    rounded(bare.cpu.service_ms),
    rounded(product.generator_ms),
  ]
}

async function measure(rig: Rig, side: Side, load: SmtpLoad): Promise<Measured> {
  const filed = () => (side === 'service' ? untilFiled(rig.sql) : undefined)
  await sendSmtpLoad({ ...load, messages: Math.max(load.sessions, Math.ceil(load.messages / 20)) })
  await filed()
  const before = rig.cpu(side)
  const started_ms = performance.now()
  const { seconds, generator_ms } = await sendSmtpLoad(load)
  await filed()
  const filed_s = (performance.now() - started_ms) / 1000
  return {
    acknowledged_per_s: load.messages / seconds,
    filed_per_s: load.messages / filed_s,
    cpu: cpuOfEach(before, rig.cpu(side), load.messages),
    generator_ms,
  }
}
