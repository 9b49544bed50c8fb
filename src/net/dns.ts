/**
 * Looks up DNS records of other domains, within a time limit: for checks of inbound mail. Answers are kept for a while,
 * and servers that answer nothing are left alone for a minute, so that dead DNS costs one message some seconds, and not
 * each message.
 */
import { getServers } from 'node:dns'
import { LRUCache } from 'lru-cache'
import { config } from '../config'
import { within } from '../flow/within'
import { log } from '../log'
import { askServer, type DnsAnswer, type DnsServer } from './dns-query'

/**
 * Resolves a name to records in the form of node:dns. Rejects with a `code` as node:dns does: `ENOTFOUND`, `ENODATA`,
 * `EBADNAME`; any other means that DNS cannot tell now.
 */
export type RecordLookup = (name: string, type: string) => Promise<string[] | string[][]>

class DnsError extends Error {
  constructor(
    readonly code: string,
    name: string,
  ) {
    super(`${code} ${name}`)
  }
}

/** The time that one question may take, of all servers together. */
const QUESTION_MS = 2500
/** The time after which the next server is asked, or the same one again. */
const SERVER_MS = 1000
const ROUNDS = 2
/** The time in which a server that is alive answers what it knows by heart. */
const PROBE_MS = 1000
/** Limits of the time that an answer is kept, whatever its record says; faults are kept for the shorter one. */
const [LEAST_KEPT_S, MOST_KEPT_S] = [60, 300]
const LEFT_ALONE_MS = 60_000
const MOST_KEPT = 10_000
const NO_ANSWER: DnsAnswer = { code: 'ETIMEOUT' }
const CLEAR = ['ENOTFOUND', 'ENODATA', 'EBADNAME']

class Dns {
  readonly #servers: DnsServer[]
  readonly #answers = new LRUCache<string, DnsAnswer>({ max: MOST_KEPT })
  /** Questions under way. */
  readonly #asked = new Map<string, Promise<DnsAnswer>>()
  /** By `performance.now()`. */
  #left_alone_until = Number.NEGATIVE_INFINITY
  #probing: Promise<boolean> | undefined

  constructor(servers: string[]) {
    this.#servers = servers.map(readServer)
  }

  /** Never rejects. */
  async ask(name: string, type: string): Promise<DnsAnswer> {
    const key = `${type} ${name.toLowerCase()}`
    const known = this.#answers.get(key)
    if (known) return known
    if (performance.now() < this.#left_alone_until) return NO_ANSWER
    const asked = this.#asked.get(key) ?? this.#askAnew(key, name, type)
    this.#asked.set(key, asked)
    return asked
  }

  async #askAnew(key: string, name: string, type: string): Promise<DnsAnswer> {
    const answer = await this.#askServers(name, type, QUESTION_MS)
    this.#asked.delete(key)
    // Somebody else's slow name must not stop the checks of all mail: another question tells if the servers are alive.
    if (answer === NO_ANSWER && !(await this.#isAlive())) return answer
    const ttl_s = 'ttl_s' in answer ? Math.min(Math.max(answer.ttl_s, LEAST_KEPT_S), MOST_KEPT_S) : LEAST_KEPT_S
    this.#answers.set(key, answer, { ttl: ttl_s * 1000 })
    return answer
  }

  /** Asks one server after the other, until one gives a clear answer. */
  async #askServers(name: string, type: string, timeout_ms: number): Promise<DnsAnswer> {
    const ends_at = performance.now() + timeout_ms
    let last = NO_ANSWER
    for (const server of Array(ROUNDS).fill(this.#servers).flat() as DnsServer[]) {
      const left_ms = Math.min(ends_at - performance.now(), SERVER_MS)
      if (left_ms <= 0) break
      const answer = await askServer(server, name, type, left_ms)
      if ('records' in answer || CLEAR.includes(answer.code)) return answer
      if (answer.code !== 'ETIMEOUT') last = answer
    }
    return last
  }

  /** Asks for the root, which every server knows; whatever it says, it is alive. */
  #isAlive(): Promise<boolean> {
    this.#probing ??= this.#askServers('.', 'NS', PROBE_MS).then((answer) => {
      this.#probing = undefined
      if (answer !== NO_ANSWER) return true
      this.#left_alone_until = performance.now() + LEFT_ALONE_MS
      log.warn({ servers: this.#servers }, 'DNS does not answer: senders of mail are not checked for a minute')
      return false
    })
    return this.#probing
  }
}

/** @param text an address with or without a port, the address in brackets when it is of IPv6 and has one */
function readServer(text: string): DnsServer {
  const [, in_brackets, port] = /^\[(.*)\]:(\d+)$/.exec(text) ?? /^([\d.]+):(\d+)$/.exec(text) ?? []
  return { address: in_brackets ?? text, port: Number(port ?? 53) }
}

/** One for each list of servers: the setting changes only in tests. */
const known_dns = new WeakMap<string[], Dns>()

/**
 * Makes a lookup with the servers of DNS_SERVERS that answers until a time limit; after it every question rejects with
 * `ETIMEOUT`, those under way too.
 */
export function lookupFor(timeout_ms: number): RecordLookup {
  const setting = config.DNS_SERVERS
  const dns = known_dns.get(setting) ?? new Dns(setting.length > 0 ? setting : getServers())
  known_dns.set(setting, dns)
  const ends_at = performance.now() + timeout_ms
  return async (name, type) => {
    const left_ms = ends_at - performance.now()
    if (left_ms <= 0) throw new DnsError('ETIMEOUT', name)
    const answer = await within(left_ms, dns.ask(name, type), 'late').catch(() => NO_ANSWER)
    if ('code' in answer) throw new DnsError(answer.code, name)
    // The caller may change what it gets.
    return structuredClone(answer.records) as string[] | string[][]
  }
}
