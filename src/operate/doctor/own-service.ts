/** Asks the service on this machine if it works: HTTP by /readyz, SMTP by its greeting. */
import { connect } from 'node:net'
import { isInNetworks } from '../../base/address/networks'
import { config } from '../../base/config'
import type { Connection } from '../../base/db/transact'
import { within } from '../../base/flow/within'
import { readServer } from './database-server'
import { type Finding, failure, warning } from './finding'

const ANSWER_MS = 3000
/** `/readyz` waits for the process, a connection of the pool and the database: together they take some milliseconds. */
const SLOW_MS = 1000
const NO_GREETING = `no greeting within ${ANSWER_MS / 1000} s`

/** Looks at both listeners of this machine. */
export async function checkService(connection: Connection): Promise<Finding[]> {
  const [http, smtp] = await Promise.all([askHttp(), askSmtp()])
  if (http?.is_refused) {
    // A command in a separate container has no service beside it.
    const { processes } = await readServer(connection)
    if (processes === 0) return [notRunning(http.place)]
    return []
  }
  return [...(http ? [http.finding] : []), ...(smtp ? [smtp] : [])]
}

function notRunning(place: string): Finding {
  return failure(
    `No service runs: nothing answers at ${place}, and none has a connection to the database that waits for notices`,
    'Start the service. If it is meant to run, its log says why it ended.',
  )
}

type Answer = { place: string; is_refused: boolean; finding: Finding }

async function askHttp(): Promise<Answer | undefined> {
  if (config.PORT === 0) return undefined
  const scheme = config.TLS_CERT_FILE ? 'https' : 'http'
  const place = `${scheme}://${hostInUrl(localHost())}:${config.PORT}/readyz`
  const failed = (what: string, is_refused = false): Answer => ({
    place,
    is_refused,
    finding: failure(
      `The service does not work: ${place} ${what}`,
      'Look at the last lines of its log, and restart it if it hangs.',
    ),
  })
  try {
    // The name in the certificate is that of BASE_URL, not of this address.
    const init = { signal: AbortSignal.timeout(ANSWER_MS), tls: { rejectUnauthorized: false } }
    const asked_ms = performance.now()
    const { status } = await fetch(place, init)
    const took_ms = performance.now() - asked_ms
    if (status === 200)
      return took_ms < SLOW_MS ? undefined : { place, is_refused: false, finding: slow(place, took_ms) }
    return failed(
      status === 503
        ? 'answers 503: it cannot reach the database, or it is stopping'
        : `answers ${status}: is something else at this port?`,
    )
  } catch (error) {
    const { name, code } = error as { name?: string; code?: string }
    if (name === 'TimeoutError') return failed(`does not answer within ${ANSWER_MS / 1000} s`)
    return failed(`cannot be asked (${code ?? name})`, code === 'ConnectionRefused' || code === 'ECONNREFUSED')
  }
}

function slow(place: string, took_ms: number): Finding {
  return warning(
    `The service is slow: ${place} took ${Math.round(took_ms)} ms`,
    'Follow "Why is it slow or failing?" in src/guide/operate.md.',
  )
}

async function askSmtp(): Promise<Finding | undefined> {
  if (config.SMTP_PORT === 0) return undefined
  const host = localHost()
  const place = `${hostInUrl(host)}:${config.SMTP_PORT}`
  // From such an address the listener waits for a PROXY header.
  const is_proxy = isInNetworks(host, config.SMTP_TRUSTED_PROXIES)
  const greeting = await within(ANSWER_MS, readGreeting(host, is_proxy), NO_GREETING).catch((error: Error) => error)
  if (typeof greeting === 'string' && /^(220|421|554)/.test(greeting)) {
    if (!greeting.startsWith('421')) return undefined
    return warning(
      `The SMTP listener at ${place} takes no more connections (${greeting.slice(0, 80)}): senders try again later`,
      'See who is connected. Raise SMTP_MAX_CLIENTS if these are your own servers.',
    )
  }
  const why =
    typeof greeting === 'string' ? `it greets with ${JSON.stringify(greeting.slice(0, 40))}` : greeting.message
  return failure(
    `The SMTP listener at ${place} does not work: ${why}. Senders keep their mail and try again`,
    'Look at the log of the service. If SMTP_PORT is not meant to be used, set it to 0.',
  )
}

/** The first line; `220` when only the connection is to be seen. */
function readGreeting(host: string, connects_only: boolean): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const socket = connect({ host, port: config.SMTP_PORT })
  socket.once('connect', () => connects_only && resolve('220'))
  socket.once('data', (bytes) => resolve(bytes.toString('latin1').split('\r\n')[0]!))
  socket.once('error', reject)
  socket.once('close', () => reject(new Error('it closes the connection')))
  return promise.finally(() => socket.destroy())
}

function localHost(): string {
  if (config.HOST === '0.0.0.0') return '127.0.0.1'
  return config.HOST === '::' ? '::1' : config.HOST
}

function hostInUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}
