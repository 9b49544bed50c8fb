/**
 * Reads a connection URL as libpq does: several hosts, `sslmode` with its certificates, and settings of the session.
 * postgres.js 3.4.9 reads one too, but it ignores `sslrootcert`, takes `verify-ca` for `verify-full`, sends what only
 * libpq knows to the server, and knows no IPv6 address among several hosts. `pg-connection-string` reads one host only.
 * Tests: tests/base/db/connection-url.test.ts.
 */
import { readFileSync } from 'node:fs'
import type postgres from 'postgres'
import { OperatorError } from '../errors'

/** The options that the driver connects by. */
export type ConnectionOptions = postgres.Options<Record<string, postgres.PostgresType>>

/** A part of a connection URL that cannot be used. Its message never repeats the URL. */
export class ConnectionUrlError extends OperatorError {}

type Tls = Exclude<ConnectionOptions['ssl'], undefined>

/** Parameters that libpq keeps to itself, or that are read below: the server does not know them. */
const NOT_FOR_SERVER = new Set(
  `host port user password dbname sslmode ssl sslrootcert sslcert sslkey sslcrl sslcrldir sslsni sslcompression
  ssl_min_protocol_version ssl_max_protocol_version sslnegotiation sslpassword sslcertmode channel_binding require_auth
  gssencmode krbsrvname gsslib gssdelegation requirepeer passfile service fallback_application_name client_encoding
  connect_timeout keepalives keepalives_idle keepalives_interval keepalives_count tcp_user_timeout load_balance_hosts
  target_session_attrs prepare pgbouncer`.split(/\s+/),
)

/** @throws ConnectionUrlError for a URL that is malformed, or names a file that cannot be read */
export function readConnectionUrl(text: string): ConnectionOptions {
  const [, authority, rest] = /^[a-z]+:\/\/([^/?#]*)(.*)$/s.exec(text) ?? []
  if (authority === undefined) throw new ConnectionUrlError('must be a URL with postgres:')
  const at = authority.lastIndexOf('@')
  const url = new URL(`postgres://${authority.slice(0, at + 1)}host${rest}`)
  const given = Object.fromEntries(url.searchParams)
  const hosts = hostsOf(authority.slice(at + 1) || given.host || 'localhost', given.port)
  const user = decodeURIComponent(url.username) || given.user
  const password = decodeURIComponent(url.password) || given.password
  const database = decodeURIComponent(url.pathname.slice(1)) || given.dbname || user
  const session = oneOf(SESSIONS, 'target_session_attrs', given.target_session_attrs)
  const connection = Object.entries(given).filter(([name]) => !NOT_FOR_SERVER.has(name))
  return {
    ...hosts,
    ...(user !== undefined && { user }),
    ...(password !== undefined && { password }),
    ...(database !== undefined && { database }),
    ssl: readTls(given),
    ...(session && session !== 'any' && { target_session_attrs: session }),
    ...(Number(given.connect_timeout) > 0 && { connect_timeout: Number(given.connect_timeout) }),
    ...readPrepare(given),
    connection: Object.fromEntries(connection),
  }
}

/** Hosts and database of a connection URL, for messages. */
export function placeOf(text: string): string {
  const [, hosts, path] = /^[a-z]+:\/\/(?:[^/?#]*@)?([^/?#]*)([^?#]*)/s.exec(text) ?? []
  return `${hosts}${path}`
}

/** A list such as `db1,db2:5433,[::1]:5434`, or the folder of a socket. */
function hostsOf(list: string, default_port = '5432'): ConnectionOptions {
  const folder = decodeURIComponent(list)
  if (folder.startsWith('/')) return { path: `${folder}/.s.PGSQL.${default_port}` }
  const ports = default_port.split(',')
  const hosts = list.split(',').map((part, index) => {
    const [, in_brackets, bare, port] = /^(?:\[([0-9a-f:.]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/i.exec(part) ?? []
    const name = in_brackets ?? bare
    if (!name) throw new ConnectionUrlError('holds a host that is none')
    return { name: decodeURIComponent(name), port: Number(port ?? ports[index] ?? ports[0]) }
  })
  // The driver takes lists, as its own reader makes them of a URL; its types know only one of each.
  return { host: hosts.map(({ name }) => name), port: hosts.map(({ port }) => port) } as unknown as ConnectionOptions
}

const SESSIONS = ['any', 'read-write', 'read-only', 'primary', 'standby', 'prefer-standby'] as const
const MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'] as const

function oneOf<Word extends string>(words: readonly Word[], name: string, value: string | undefined) {
  const word = words.find((one) => one === value)
  if (value !== undefined && !word) {
    throw new ConnectionUrlError(`holds ${name}=${value}, which is none of ${words.join(', ')}`)
  }
  return word
}

/** `pgbouncer=true` is what other programs take to mean that statements are not prepared. */
function readPrepare({ prepare, pgbouncer }: Record<string, string>): Pick<ConnectionOptions, 'prepare'> {
  if (prepare !== undefined) return { prepare: !['false', 'disable', 'off', '0'].includes(prepare) }
  return pgbouncer === 'true' ? { prepare: false } : {}
}

/**
 * Encryption by `sslmode`. As in libpq, `require` with a root certificate checks the chain, and `sslrootcert=system`
 * means `verify-full`. A root certificate without any mode does so too. Nothing is encrypted when neither is given.
 */
function readTls(given: Record<string, string>): Tls {
  const alias = given.ssl === 'true' ? 'require' : given.ssl === 'false' ? 'disable' : given.ssl
  const { sslrootcert: root, sslmode = alias } = given
  const mode = oneOf(MODES, 'sslmode', sslmode || undefined) ?? (root ? 'verify-full' : 'disable')
  if (mode === 'disable') return false
  if (mode === 'allow' || mode === 'prefer') return 'prefer'
  const own = { ...readGiven(given, 'sslcert', 'cert'), ...readGiven(given, 'sslkey', 'key') }
  if (mode === 'require' && !root) return { ...own, rejectUnauthorized: false }
  if (root === 'system') return { ...own, rejectUnauthorized: true }
  const checked = { ...own, ...readGiven(given, 'sslrootcert', 'ca'), rejectUnauthorized: true }
  return mode === 'verify-full' ? checked : { ...checked, checkServerIdentity: () => undefined }
}

/** Reads the file that a parameter names, as an option of TLS. */
function readGiven(given: Record<string, string>, name: string, option: 'cert' | 'key' | 'ca') {
  const file = given[name]
  if (!file) return {}
  try {
    return { [option]: readFileSync(file, 'utf8') }
  } catch {
    throw new ConnectionUrlError(`names ${file} as ${name}, which cannot be read`)
  }
}

/** Parameters of a URL that only this service knows. */
const FOR_US = ['prepare', 'pgbouncer', 'ssl']

/**
 * Splits a connection URL for programs of PostgreSQL: the URL without its password and without what they do not know,
 * the password, and parameters of the server as PGOPTIONS takes them.
 */
export function forPrograms(text: string): { url: string; password: string | undefined; options: string } {
  const [, scheme, user = '', hosts, rest] = /^([a-z]+:\/\/)(?:([^/?#]*)@)?([^/?#]*)(.*)$/s.exec(text) ?? []
  const [name, ...secret] = user.split(':')
  const { pathname, searchParams } = new URL(`postgres://host${rest}`)
  const password =
    secret.length > 0 ? decodeURIComponent(secret.join(':')) : (searchParams.get('password') ?? undefined)
  const given = [...searchParams].filter(([key]) => !FOR_US.includes(key) && key !== 'password')
  const known = new URLSearchParams(given.filter(([key]) => NOT_FOR_SERVER.has(key))).toString()
  return {
    url: `${scheme}${name ? `${name}@` : ''}${hosts}${pathname}${known && `?${known}`}`,
    password,
    // A blank in a value would begin another word.
    options: given
      .flatMap(([key, value]) => (NOT_FOR_SERVER.has(key) ? [] : `-c ${key}=${value.replace(/[\\\s]/g, '\\$&')}`))
      .join(' '),
  }
}
