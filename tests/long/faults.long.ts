/**
 * Faults under load: a worker that is killed while it claims, attempts or settles, a database that crashes, and a
 * network that is cut. No job is lost, and none is done twice but those that a killed worker held.
 *
 * FAULTS_SEED repeats a run: the same faults, in the same order, after the same amounts of work. FAULTS_JOBS says how
 * many jobs there are of the outbox, and how many mails to file.
 */
import { expect, test } from 'bun:test'
import { checkDeliveries } from '../support/drain-processes'
import { type FaultyService, type Stop, type Strike, startFaultyService } from '../support/faults'
import type { Moment } from '../support/gates'
import { rawMail } from '../support/mail'
import { startReceiver } from '../support/receiver'
import { randomFrom } from '../support/seeded'
import { until } from '../support/service'
import { sendMail, startSmtpSink } from '../support/smtp'

const SEED = Number(process.env.FAULTS_SEED ?? 1)
const JOBS = Number(process.env.FAULTS_JOBS ?? 1000)
/** Each kind of fault comes as often. */
const ROUNDS = Math.max(1, Math.round(JOBS / 200))
const WRITERS = 4
const ADDRESS = 'support@desk.example'
const CUT_MOST_MS = 1500
const LONGEST_MS = 600_000
/** So many attempts that nothing is given up. */
const SCHEDULE = ['0', ...Array(40).fill('0.2')].join()

/** Where the work of a stage can be stopped. */
type Stages<Place extends string> = Record<'claim' | 'attempt' | 'settle', Place[]>

/** `part` of its share of the load is acknowledged before. */
type Fault<Place> = { kind: string; strike: Strike; place: Place; part: number; cut_ms: number }

/** All faults of a run, in their order. Database and network fail at any stage, and once in the commit that settles. */
function plan<Place extends string>(stages: Stages<Place>, random: () => number): Fault<Place>[] {
  const any = <T>(choices: T[]): T => choices[Math.floor(random() * choices.length)]!
  const anywhere = (round: number) => {
    return round === 0 ? stages.settle.at(-1)! : any(stages[any(['claim', 'attempt', 'settle'] as const)])
  }
  const faults = Array.from({ length: ROUNDS }, (_, round) => [
    ...(['claim', 'attempt', 'settle'] as const).map((stage) => {
      return { kind: `worker killed at ${stage}`, strike: 'kill' as const, place: any(stages[stage]) }
    }),
    ...(['database', 'network'] as const).map((strike) => {
      return { kind: strike, strike, place: anywhere(round) }
    }),
  ]).flat()
  return faults
    .map((fault) => ({ ...fault, order: random(), part: random(), cut_ms: Math.round(random() * CUT_MOST_MS) }))
    .toSorted((a, b) => a.order - b.order)
}

/**
 * Work that goes on beside the faults: each has its share, so that none meets a service without load.
 * @param most pieces of work
 */
class Load {
  #begun = 0
  #allowed = 0
  acknowledged = 0

  constructor(
    readonly most: number,
    readonly shares: number,
  ) {}

  /** Runs `work` for each number, several at a time, as far as the shares allow. */
  async run(work: (n: number) => Promise<void>): Promise<void> {
    const loop = async () => {
      while (this.#begun < this.most) {
        const n = this.#begun++
        await until('its share may begin', () => n < this.#allowed, LONGEST_MS)
        await work(n)
        this.acknowledged++
      }
    }
    await Promise.all(Array.from({ length: WRITERS }, loop))
  }

  allow(shares: number): void {
    this.#allowed = Math.ceil((this.most * shares) / this.shares)
  }
}

/** Lets the faults happen one after the other, each in the middle of its share of the load. */
async function strikeAll<Place extends string>(
  faulty: FaultyService,
  faults: Fault<Place>[],
  load: Load,
  stopAt: (place: Place) => Promise<Stop>,
): Promise<void> {
  for (const [n, { kind, strike, place, part, cut_ms }] of faults.entries()) {
    load.allow(n + 1)
    const wanted = Math.floor((load.most * (n + part)) / load.shares)
    await until(`${wanted} are acknowledged before: ${kind}`, () => load.acknowledged >= wanted)
    console.info(`${load.acknowledged} acknowledged: ${kind}, stopped at ${place}`)
    const stop = await stopAt(place)
    load.allow(n + 2)
    await faulty.strike(strike, stop, cut_ms)
  }
}

/** Does something until it succeeds, as a client does that gets no answer. @returns what it gave, and its tries */
async function insist<T>(attempt: () => Promise<T | undefined>): Promise<{ value: T; tries: number }> {
  for (let tries = 1; ; tries++) {
    const value = await attempt().catch(() => undefined)
    if (value !== undefined) return { value, tries }
    await Bun.sleep(50)
  }
}

test(
  `${JOBS} jobs of the outbox and ${5 * ROUNDS} faults, seed ${SEED}: each is done, and twice only what was held`,
  async () => {
    const fails = randomFrom(SEED)
    const hold = holdAnswers()
    const delivered = new Map<string, number>()
    using receiver = await startReceiver({
      async answer({ headers }) {
        await hold.pass()
        if (fails() < 0.05) return 500
        const id = headers.get('x-service-delivery')!
        delivered.set(id, (delivered.get(id) ?? 0) + 1)
        return 200
      },
    })
    using sink = await startSmtpSink({ answer: ({ stage }) => (stage === 'data' ? hold.pass() : undefined) })
    await using faulty = await startFaultyService({
      WEBHOOK_CA_FILE: receiver.ca_file,
      RETRY_SCHEDULE_SECONDS: SCHEDULE,
      EMAIL_INLINE_WAIT_MS: '1',
    })
    const { service, scope, leased } = faulty
    const { call } = service()
    await call('POST', '/webhooks', { url: receiver.url, events: ['ticket.created', 'message.created'] })
    await call('POST', '/mailboxes', {
      address: ADDRESS,
      smtp: { host: '127.0.0.1', port: sink.port, security: 'none' },
    })
    const contact = await call('POST', '/contacts', { name: 'Carla', email: 'carla@customer.example' })
    const contact_id = contact.body.data.id
    const token = service().token()

    // A ticket with an answer is three jobs: two deliveries and an email.
    const load = new Load(Math.ceil(JOBS / 3), 5 * ROUNDS + 1)
    const tickets: string[] = []
    const replies: string[] = []
    const write = async (path: string, body: object, key: string): Promise<string> => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'idempotency-key': key }
      const { value } = await insist(async () => {
        const url = `${service().url}/api/v1${path}`
        const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
        return response.status === 201 ? ((await response.json()) as { data: { id: string } }).data.id : undefined
      })
      return value
    }
    const writing = load.run(async (n) => {
      const id = await write('/tickets', { subject: `Ticket ${n}`, contact_id }, `ticket ${n}`)
      tickets.push(id)
      replies.push(await write(`/tickets/${id}/messages`, { body: `Answer ${n}` }, `answer ${n}`))
    })
    const faults = plan(
      { claim: ['claim', 'claim_commit'], attempt: ['answer'], settle: ['record', 'settle_commit'] },
      randomFrom(SEED),
    )
    const stopAt = async (place: Moment | 'answer') => (place === 'answer' ? hold.close() : faulty.stopAt(place))
    await strikeAll(faulty, faults, load, stopAt)
    await writing
    await faulty.untilDone()

    const deliveries = await checkDeliveries(scope, receiver.requests)
    expect(deliveries.filter(({ status }) => status !== 'success')).toEqual([])
    for (const { codes } of deliveries) expect(codes).toEqual([...Array(codes.length - 1).fill(500), 200])
    const told = deliveries.map(({ body }) => String(JSON.parse(body).data.id))
    expect(told.toSorted()).toEqual([...tickets, ...replies].toSorted())
    const emails = await scope.sql<{ id: string; email_message_id: string; email_status: string; log: number }[]>`
    select id, email_message_id, email_status, (
      select count(*) from activities a where a.type = 'email_sent' and a.data->>'message_id' = m.id::text
    ) as log
    from messages m where email_message_id is not null`
    expect(emails.map(({ id }) => id).toSorted()).toEqual(replies.toSorted())
    for (const { email_status, log } of emails) expect([email_status, log]).toEqual(['sent', 1])
    const sent = Map.groupBy(sink.messages, ({ raw }) => /^Message-ID:\s*<([^>]+)>/im.exec(raw.toString())![1]!)
    const times = new Map([
      ...deliveries.map(({ id }): [string, number] => [id, delivered.get(id) ?? 0]),
      ...emails.map(({ id, email_message_id }): [string, number] => [id, sent.get(email_message_id)?.length ?? 0]),
    ])
    report({ jobs: times.size, faults, done: times, held: leased.size, mayRepeat: (id) => leased.has(id) })
  },
  LONGEST_MS * 3,
)

test(
  `${JOBS} mails and ${5 * ROUNDS} faults, seed ${SEED}: each is filed once, with its file`,
  async () => {
    await using faulty = await startFaultyService({})
    const { service, scope, leased } = faulty
    await service().call('POST', '/mailboxes', { address: ADDRESS })
    const load = new Load(JOBS, 5 * ROUNDS + 1)
    let again = 0
    const writing = load.run(async (n) => {
      const from = `person.${n % 50}@customer.example`
      const raw = mailWithFile(n, from)
      const { tries } = await insist(async () => {
        const { code } = await sendMail({ port: service().smtp_port, from, to: ADDRESS, raw })
        return code === 250 || undefined
      })
      again += tries - 1
    })
    const faults = plan(
      { claim: ['claim', 'claim_commit'], attempt: ['attach'], settle: ['file', 'settle_commit'] } as Stages<Moment>,
      randomFrom(SEED),
    )
    await strikeAll(faulty, faults, load, faulty.stopAt)
    await writing
    await faulty.untilDone()

    const { sql } = scope
    const filed = await sql<{ subject: string; messages: number; files: number }[]>`
    select t.subject, count(distinct m.id) as messages, count(a.id) as files
    from tickets t left join messages m on m.ticket_id = t.id left join attachments a on a.message_id = m.id
    group by t.organization_id, t.id`
    const subjects = Map.groupBy(filed, ({ subject }) => subject)
    for (const row of filed) expect(row).toEqual({ subject: row.subject, messages: 1, files: 1 })
    const ledger = await sql<{ outcome: string; n: number }[]>`
    select outcome, count(*) as n from inbound_messages group by outcome order by outcome desc`
    const counts = Object.fromEntries(ledger.map(({ outcome, n }) => [outcome, n]))
    // Mail that got no answer although it was accepted is sent again by its sender, and is known by its Message-ID.
    expect(Object.keys(counts).filter((outcome) => outcome !== 'ticket' && outcome !== 'duplicate')).toEqual([])
    expect(counts.duplicate ?? 0).toBeLessThanOrEqual(again)
    const done = new Map(Array.from({ length: JOBS }, (_, n) => [`Mail ${n}`, subjects.get(`Mail ${n}`)?.length ?? 0]))
    console.info(`${again} sent again by their senders, ${counts.duplicate ?? 0} of them known`)
    report({ jobs: filed.length, faults, done, held: leased.size, mayRepeat: () => false })
  },
  LONGEST_MS * 3,
)

/**
 * Checks that all jobs were done, and none twice that may not be.
 * @param run.held jobs that killed workers had leased
 */
function report<Place>(run: {
  jobs: number
  faults: Fault<Place>[]
  done: Map<string, number>
  held: number
  mayRepeat(id: string): boolean
}): void {
  const withTimes = (is: (times: number) => boolean) => [...run.done].filter(([, times]) => is(times)).map(([id]) => id)
  const lost = withTimes((times) => times === 0)
  const again = withTimes((times) => times > 1)
  const figures = { seed: SEED, jobs: run.jobs, faults: run.faults.length, lost: lost.length, again: again.length }
  console.info({ ...figures, 'held by killed workers': run.held })
  expect(lost).toEqual([])
  expect(again.filter((id) => !run.mayRepeat(id))).toEqual([])
  expect(run.jobs).toBe(run.done.size)
}

/** Answers that a test can hold back: those of the receiver and of the mail server. */
function holdAnswers() {
  let held: { promise: Promise<undefined>; resolve: (nothing: undefined) => void } | undefined
  let waiting = 0
  return {
    pass() {
      if (held) waiting++
      return held?.promise
    },
    close(): Stop {
      waiting = 0
      held = Promise.withResolvers<undefined>()
      return {
        isReached: () => waiting > 0,
        open() {
          held?.resolve(undefined)
          held = undefined
        },
      }
    },
  }
}

function mailWithFile(n: number, from: string): Buffer {
  const fields = {
    ...{ From: from, To: ADDRESS, Subject: `Mail ${n}`, Message_ID: `<${SEED}.${n}@customer.example>` },
    ...{ MIME_Version: '1.0', Content_Type: 'multipart/mixed; boundary=part' },
  }
  const text = `Content-Type: text/plain\n\n${'The printer does not print. '.repeat(40)}`
  const file = 'Content-Type: text/csv\nContent-Disposition: attachment; filename=log.csv\n\ntime,page'
  return rawMail(fields, `--part\n${text}\n--part\n${file}\n--part--`)
}
