/**
 * Looks up DNS records of other domains, within a time limit: for checks of inbound mail. Answers are kept for a while,
 * and servers that answer nothing are left alone for a minute, so that dead DNS costs one message some seconds, and not
 * each message. Whoever has a domain can make questions about it fail: only the servers' silence about everything
 * counts.
 */
import { getServers } from 'node:dns'
import { LRUCache } from 'lru-cache'
import { config } from '../config'
import { within } from '../flow/within'
import { log } from '../log'
import { askServer, type DnsAnswer, type DnsServer, isName, isRecordType, type RecordType } from './dns-query'

/**
 * Resolves a name to records in the form of node:dns. Rejects with a `code` as node:dns does: `ENOTFOUND`, also of a
 * name that cannot exist, and `ENODATA`; any other means that DNS cannot tell now.
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
/** Time in which a live server answers from its cache. Each is asked twice. */
const PROBE_MS = 750
/** Limits of the time that an answer is kept, whatever its record says; faults are kept for the shorter one. */
const [LEAST_KEPT_S, MOST_KEPT_S] = [60, 300]
const LEFT_ALONE_MS = 60_000
const MOST_KEPT = 10_000
/** Most characters of all answers kept, as JSON. A usual one has 200; the owner of a domain can make some of 64 KB. */
const MOST_KEPT_CHARACTERS = 8_000_000
const NO_ANSWER: DnsAnswer = { code: 'ETIMEOUT' }
const NO_SUCH_NAME: DnsAnswer = { code: 'ENOTFOUND' }
const CLEAR = ['ENOTFOUND', 'ENODATA']

class Dns {
  readonly #servers: DnsServer[]
  readonly #answers = new LRUCache<string, DnsAnswer>({
    max: MOST_KEPT,
    maxSize: MOST_KEPT_CHARACTERS,
    sizeCalculation: (answer) => JSON.stringify(answer).length,
  })
  /** Questions under way. */
  readonly #asked = new Map<string, Promise<DnsAnswer>>()
  /** By `performance.now()`: the end of their rest, and the last answer of any kind. */
  #left_alone_until = Number.NEGATIVE_INFINITY
  #heard_at = Number.NEGATIVE_INFINITY
  #probing: Promise<boolean> | undefined

  constructor(servers: string[]) {
    this.#servers = servers.map(readServer)
  }

  /** Never rejects. @param left_ms without time left it answers what is known, and asks nothing */
  async ask(name: string, type: string, left_ms: number): Promise<DnsAnswer> {
    if (!isName(name) || !isRecordType(type)) return NO_SUCH_NAME
    const key = `${type} ${name.toLowerCase()}`
    const known = this.#answers.get(key)
    if (known) return known
    if (left_ms <= 0 || this.#isLeftAlone()) return NO_ANSWER
    const asked = this.#asked.get(key) ?? this.#askAnew(key, name, type)
    this.#asked.set(key, asked)
    return within(left_ms, asked, 'late').catch(() => NO_ANSWER)
  }

  /**
   * True when the servers can tell something about other names: what they cannot tell of one is the fault of that one.
   */
  async reachesOthers(): Promise<boolean> {
    if (this.#isLeftAlone()) return false
    // Asked afresh: an answer of before the failure tells nothing about servers that have just fallen silent.
    return this.#probe()
  }

  async #askAnew(key: string, name: string, type: RecordType): Promise<DnsAnswer> {
    const answer = await this.#askServers(name, type)
    this.#asked.delete(key)
    // Somebody else's slow name must not stop the checks of all mail: other answers tell if the servers are alive.
    if (answer === NO_ANSWER && !(await this.#isAlive())) return answer
    const ttl_s = 'ttl_s' in answer ? Math.min(Math.max(answer.ttl_s, LEAST_KEPT_S), MOST_KEPT_S) : LEAST_KEPT_S
    this.#answers.set(key, answer, { ttl: ttl_s * 1000 })
    return answer
  }

  /** Asks one server after the other, until one gives a clear answer. */
  async #askServers(name: string, type: RecordType): Promise<DnsAnswer> {
    const ends_at = performance.now() + QUESTION_MS
    let last = NO_ANSWER
    for (const server of Array(ROUNDS).fill(this.#servers).flat() as DnsServer[]) {
      const left_ms = Math.min(ends_at - performance.now(), SERVER_MS)
      if (left_ms <= 0) break
      const answer = await this.#askServer(server, name, type, left_ms)
      if (isClear(answer)) return answer
      if (!isSilence(answer)) last = answer
    }
    return last
  }

  async #askServer(server: DnsServer, name: string, type: RecordType, timeout_ms: number): Promise<DnsAnswer> {
    const answer = await askServer(server, name, type, timeout_ms)
    if (!isSilence(answer)) this.#heard_at = performance.now()
    return answer
  }

  async #isAlive(): Promise<boolean> {
    if (!isRecent(this.#heard_at, QUESTION_MS)) await this.#probe()
    if (isRecent(this.#heard_at, QUESTION_MS)) return true
    this.#left_alone_until = performance.now() + LEFT_ALONE_MS
    log.warn({ servers: this.#servers }, 'DNS does not answer: senders of mail are not checked for a minute')
    return false
  }

  /**
   * Asks every server for the root, which each of them knows. A lost packet must not count as a dead server.
   * @returns true when one of them tells it
   */
  #probe(): Promise<boolean> {
    const askAll = async () => {
      const asked = this.#servers.map((server) => this.#askServer(server, '.', 'NS', PROBE_MS))
      return (await Promise.all(asked)).some(isClear)
    }
    this.#probing ??= (async () => {
      const is_told = (await askAll()) || (await askAll())
      this.#probing = undefined
      return is_told
    })()
    return this.#probing
  }

  #isLeftAlone(): boolean {
    return performance.now() < this.#left_alone_until
  }
}

/** True when the answer tells what the name has. */
function isClear(answer: DnsAnswer): boolean {
  return 'records' in answer || CLEAR.includes(answer.code)
}

function isSilence(answer: DnsAnswer): boolean {
  return 'code' in answer && answer.code === 'ETIMEOUT'
}

function isRecent(at_ms: number, age_ms: number): boolean {
  return performance.now() - at_ms < age_ms
}

/** @param text an address with or without a port, the address in brackets when it is of IPv6 and has one */
function readServer(text: string): DnsServer {
  const [, in_brackets, port] = /^\[(.*)\]:(\d+)$/.exec(text) ?? /^([\d.]+):(\d+)$/.exec(text) ?? []
  return { address: in_brackets ?? text, port: Number(port ?? 53) }
}

/** One for each list of servers: the setting changes only in tests. */
const known_dns = new WeakMap<string[], Dns>()

function currentDns(): Dns {
  const setting = config.DNS_SERVERS
  const dns = known_dns.get(setting) ?? new Dns(setting.length > 0 ? setting : getServers())
  known_dns.set(setting, dns)
  return dns
}

/**
 * Makes a lookup with the servers of DNS_SERVERS that asks until a time limit; after it every question rejects with
 * `ETIMEOUT`, those under way too, unless the answer is known already.
 */
export function lookupFor(timeout_ms: number): RecordLookup {
  const dns = currentDns()
  const ends_at = performance.now() + timeout_ms
  return async (name, type) => {
    const answer = await dns.ask(name, type, ends_at - performance.now())
    if ('code' in answer) throw new DnsError(answer.code, name)
    // The caller may change what it gets.
    return structuredClone(answer.records) as string[] | string[][]
  }
}

/**
 * Tells whose fault a failed lookup is: true when the servers of DNS_SERVERS tell something about other names, so that
 * it is a passing fault of the one that was asked for; false without DNS. It takes at most 1.5 seconds.
 */
export function reachesOtherNames(): Promise<boolean> {
  return currentDns().reachesOthers()
}
