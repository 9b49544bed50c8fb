/** A setting: what its entry in the table says, and the readers for the kinds of values that settings have. */
import { isIP } from 'node:net'
import { type Network, type PortNetwork, toNetwork } from '../address/networks'

/** The values of all settings, or of those above a setting in the table. */
export type Values = Readonly<Record<string, unknown>>

export type Setting = {
  /** The effect of the setting, for an operator: one plain sentence, or two. */
  meaning: string
  /** Reads and checks the text of the variable. */
  read: Reader<unknown>
  /** The value for an absent variable: a text that `read` understands, or a value computed from those above. */
  default?: string | ((above: Values) => unknown)
  /** The default in words, where it is computed or made at the first start. */
  default_words?: string
  /** The file under DATA_DIR in which the service keeps a value that it made because the variable is absent. */
  generated_file?: string
  /** Says why the other settings need this one. The text continues a sentence that begins with its name. */
  missing?: (all: Values) => string | undefined
  /** Is shown as `***` only. */
  is_secret?: true
  /** Is one of the ten that a new operator sets. */
  is_basic?: true
}

/** Turns the text of a variable, trimmed and never empty, into its value. @throws WrongValue */
type Reader<Value> = (text: string) => Value

/** A text that a reader refuses. The message continues a sentence that begins with the name of the variable. */
export class WrongValue extends Error {}

/** Any text. */
export const anyText: Reader<string> = (text) => text

/** A text with a number of characters, such as a password. The message never repeats the text. */
export function textOfLength(min: number, max: number): Reader<string> {
  return (text) => {
    if (text.length < min || text.length > max) {
      throw new WrongValue(`must have ${max === Infinity ? `at least ${min}` : `${min} to ${max}`} characters`)
    }
    return text
  }
}

const SECRET_KEY_LENGTH = 32
const SECRET_KEY_DIFFERENT = 8

/**
 * A secret that keys are derived from. Every access token lets its reader guess at the secret without asking the
 * service, and the derivation is fast, so it must not be short. The message never repeats it.
 */
export const secretKey: Reader<string> = (text) => {
  const different = new Set(text).size
  if (text.length >= SECRET_KEY_LENGTH && different >= SECRET_KEY_DIFFERENT) return text
  throw new WrongValue(
    `must have at least ${SECRET_KEY_LENGTH} characters, ${SECRET_KEY_DIFFERENT} of them different. To change it, set ` +
      'SECRET_KEY to a new random one and SECRET_KEY_PREVIOUS to the present one',
  )
}

/** A text that a pattern matches. @param must what the message says to one that does not */
export function textLike(pattern: RegExp, must: string): Reader<string> {
  return (text) => {
    if (!pattern.test(text)) throw new WrongValue(must)
    return text
  }
}

/** A bucket of S3 with a prefix or without one, as `s3://bucket/prefix`. */
export const bucket: Reader<string> = textLike(/^s3:\/\/[^/]+/, 'must be a folder or s3://bucket/prefix')

/** A number in decimal digits, both limits included. */
export function wholeNumber(min: number, max: number): Reader<number> {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
    if (value >= min && value <= max) return value
    throw new WrongValue(`must be a whole number from ${min} to ${max}`)
  }
}

/** A number from 0 to 1. */
export const share: Reader<number> = (text) => {
  const number = Number(text)
  if (!(number >= 0 && number <= 1)) throw new WrongValue('must be a number from 0 to 1')
  return number
}

/** One of some words. */
export function oneWordOf<const Words extends readonly string[]>(allowed: Words): Reader<Words[number]> {
  return (text) => {
    const word: Words[number] | undefined = allowed.find((candidate) => candidate === text)
    if (word === undefined) throw new WrongValue(`must be one of ${allowed.join(', ')}`)
    return word
  }
}

/** Seconds separated by commas, at least one entry. */
export const secondsList: Reader<number[]> = (text) => {
  const parts = text.split(',').map((part) => part.trim())
  if (!parts.every((part) => /^\d{1,7}(\.\d{1,3})?$/.test(part))) {
    throw new WrongValue('must be seconds separated by commas, such as 0,60,300,1800,7200')
  }
  return parts.map(Number)
}

/** Networks separated by commas: CIDRs, or single addresses. */
export const networks: Reader<Network[]> = (text) => partsOf(text).map(readNetwork)

/** CIDRs separated by commas, each with or without a port behind it: `10.0.0.0/8:25`, `[fd00::1]:25`. */
export const networksWithPorts: Reader<PortNetwork[]> = (text) =>
  partsOf(text).map((part) => {
    const [, network, port] = /^(.+\/\d+|[\d.]+|\[[\da-f:.]+\]):(\d{1,5})$/i.exec(part) ?? []
    if (!network) return readNetwork(part)
    if (Number(port) > 65_535) throw new WrongValue(`holds ${part}, whose port is too large`)
    return [...readNetwork(network.replace(/^\[(.*)\]$/, '$1')), Number(port)]
  })

function readNetwork(part: string): Network {
  const network = toNetwork(part)
  if (!network) throw new WrongValue(`holds ${part}, which is neither a network, such as 10.0.0.0/8, nor an address`)
  return network
}

function partsOf(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean)
}

/** IP addresses separated by commas, each with or without a port. */
export const nameServers: Reader<string[]> = (text) =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean)
    .map((part) => {
      const [, in_brackets, bare, port] = /^(?:\[([\da-f:.]+)\]|([\d.]+))(?::(\d{1,5}))?$/i.exec(part) ?? []
      const address = in_brackets ?? bare ?? part
      if (!isIP(address)) throw new WrongValue(`holds ${part}, which is not an address`)
      if (Number(port ?? 53) > 65_535) throw new WrongValue(`holds ${part}, whose port is too large`)
      return address.includes(':') ? `[${address}]:${port ?? 53}` : `${address}:${port ?? 53}`
    })

/** A URL with one of some protocols, written with their colon: `https:`. */
export function url(...protocols: string[]): Reader<string> {
  return (text) => {
    if (URL.canParse(text) && protocols.includes(new URL(text).protocol)) return text
    throw new WrongValue(`must be a URL with ${protocols.join(' or ')}`)
  }
}

/** A connection URL of PostgreSQL, which may name several hosts. */
export const databaseUrl: Reader<string> = (text) => {
  const [, begin, rest] = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)[^/?#]*(.*)$/s.exec(text) ?? []
  if (begin !== undefined && URL.canParse(`${begin}host${rest}`)) return text
  throw new WrongValue('must be a URL with postgres: or postgresql:')
}

/** An address of HTTP that paths can be added to: nothing but origin and path, without a slash at the end. */
export const baseUrl: Reader<string> = (text) => {
  const { href, search, hash, username, password } = new URL(url('http:', 'https:')(text))
  if (search || hash || username || password || /[?#]$/.test(href)) {
    throw new WrongValue('must be the public address alone, such as https://desk.example.com')
  }
  return href.replace(/\/+$/, '')
}
