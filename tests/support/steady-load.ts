/** Requests and mail at a steady rate through a load balancer, and the result of each. */
import { type HttpSocket, httpSocket } from './http-socket'
import { type SmtpDialog, sendInSession, sendMail, startSession } from './smtp'

/** Connections that are kept, as a client's pool of them. */
const CONNECTIONS = 20
/** Pause of a relay that keeps its session. */
const RELAY_GAP_MS = 500

type Target = { http_port: number; smtp_port: number; token: string; contact_id: string; mailbox: string }

export type SteadyLoad = {
  requests: number
  /** Subjects of the tickets that were answered 201, and of the mail that got 250. */
  created: Set<string>
  mailed: Set<string>
  /** The failures: the request or mail with the answer. */
  faults: string[]
  /** Time of the slowest request. */
  slowest_ms: number
  /** Requests that may be under way at once, and the mails of 10 s: so long a replica counts as up that is not. */
  most_at_once: number
  /** Lets what is under way end, and starts nothing more. */
  stop(): Promise<void>
}

/** Starts the load: requests, half of them creates, and mails, each in a second. */
export function startLoad(target: Target, rates: { requests: number; mails: number }): SteadyLoad {
  const load: Counts = {
    requests: 0,
    created: new Set(),
    mailed: new Set(),
    faults: [],
    slowest_ms: 0,
    most_at_once: CONNECTIONS + 10 * rates.mails,
  }
  let is_over = false
  const isOver = () => is_over
  const gap_ms = (1000 / rates.requests) * CONNECTIONS
  const paces = [
    ...Array.from({ length: CONNECTIONS }, (_, n) => askSteadily(target, load, { gap_ms, n, isOver })),
    mailSteadily(target, load, 1000 / rates.mails, isOver),
    relaySteadily(target, load, isOver),
  ]
  return Object.assign(load, {
    async stop() {
      is_over = true
      await Promise.all(paces)
    },
  })
}

type Counts = Omit<SteadyLoad, 'stop'>

type Pace = { gap_ms: number; n: number; isOver: () => boolean }

/** One kept connection: a read, then a create, and so on. */
async function askSteadily(target: Target, load: Counts, { gap_ms, n, isOver }: Pace) {
  let socket: HttpSocket | undefined
  const start_ms = performance.now() + (gap_ms / CONNECTIONS) * n
  for (let turn = 0; ; turn++) {
    await Bun.sleep(Math.max(0, start_ms + turn * gap_ms - performance.now()))
    if (isOver()) break
    const subject = `request ${n} ${turn} ${crypto.randomUUID()}`
    const is_create = turn % 2 === 1
    const sent_ms = performance.now()
    load.requests++
    try {
      socket ??= await httpSocket(target.http_port)
      const answer = await (is_create ? create(socket, target, subject) : read(socket, target))
      const status = Number(answer.slice(9, 12))
      if (is_create && status === 201) load.created.add(subject)
      if (status >= 300) load.faults.push(`${is_create ? 'POST' : 'GET'} ${answer.split('\r\n')[0]}`)
      if (!/^connection: close/im.test(answer)) continue
    } catch (error) {
      load.faults.push(`${is_create ? 'POST' : 'GET'} ${error}`)
    } finally {
      load.slowest_ms = Math.max(load.slowest_ms, performance.now() - sent_ms)
    }
    socket?.[Symbol.dispose]()
    socket = undefined
  }
  socket?.[Symbol.dispose]()
}

function read(socket: HttpSocket, { token }: Target): Promise<string> {
  return socket.ask(`GET /api/v1/tickets?per_page=5 HTTP/1.1\r\nauthorization: Bearer ${token}`)
}

function create(socket: HttpSocket, { token, contact_id }: Target, subject: string): Promise<string> {
  const body = JSON.stringify({ subject, contact_id })
  const head = `authorization: Bearer ${token}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`
  socket.write(`POST /api/v1/tickets HTTP/1.1\r\nhost: localhost\r\n${head}\r\n\r\n${body}`)
  return socket.read()
}

/** Mail as many servers bring it: each in a session of its own, and none waits for another. */
async function mailSteadily({ smtp_port, mailbox }: Target, load: Counts, gap_ms: number, isOver: () => boolean) {
  const under_way = new Set<Promise<void>>()
  for (const start_ms = performance.now(), n = { mail: 0 }; !isOver(); n.mail++) {
    const mail = newMail(n.mail % 50, mailbox)
    const sending = sendMail({ ...mail, port: smtp_port })
      .then(({ code, response }) => {
        if (code === 250) load.mailed.add(mail.subject)
        else load.faults.push(`mail ${response}`)
      })
      .catch((error) => void load.faults.push(`mail ${error}`))
    under_way.add(sending)
    sending.finally(() => under_way.delete(sending))
    await Bun.sleep(Math.max(0, start_ms + (n.mail + 1) * gap_ms - performance.now()))
  }
  await Promise.all(under_way)
}

/** Mail of a relay that keeps its session: it makes a new one only when the old one was closed. */
async function relaySteadily({ smtp_port, mailbox }: Target, load: Counts, isOver: () => boolean) {
  let session: SmtpDialog | undefined
  for (; !isOver(); await Bun.sleep(RELAY_GAP_MS)) {
    const mail = newMail(99, mailbox)
    // Replies that the server has sent meanwhile are read first, as a relay looks at a session before it is used again.
    await new Promise(setImmediate)
    try {
      session ??= await newSession(smtp_port, () => {
        session = undefined
      })
      let { code, response } = await sendInSession(session, mail)
      if (code === 421) {
        // The session ended while MAIL was on its way: a relay brings the same mail in a new one.
        session.destroy()
        session = await newSession(smtp_port, () => {
          session = undefined
        })
        ;({ code, response } = await sendInSession(session, mail))
      }
      if (code === 250) load.mailed.add(mail.subject)
      else load.faults.push(`mail of a relay ${response}`)
    } catch (error) {
      load.faults.push(`mail of a relay ${error}`)
      session = undefined
    }
  }
  session?.destroy()
}

async function newSession(port: number, onEnd: () => void): Promise<SmtpDialog> {
  const session = await startSession(port)
  void session.closed.then(onEnd)
  return session
}

function newMail(sender: number, to: string) {
  const from = `customer${sender}@customer.example`
  const subject = `mail ${crypto.randomUUID()}`
  const id = `<${crypto.randomUUID()}@customer.example>`
  const raw = `From: ${from}\r\nTo: ${to}\r\nSubject: ${subject}\r\nMessage-ID: ${id}\r\n\r\nThe printer is on fire.\r\n`
  return { from, to, subject, raw }
}
