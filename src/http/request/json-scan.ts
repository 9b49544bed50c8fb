/**
 * Judges the bytes of a JSON text before it is parsed: how many values it has, and how deep they are nested. JSON.parse
 * has no such limits: a body of 8 MiB with 2.7 million `[]` took 4.6 s to parse and to validate, in which the process
 * did nothing else. Counting takes 10 to 30 ms.
 */

/** The result of a scan. */
type JsonScan =
  | { fault: 'too deep' | 'too many values' }
  | {
      /** Some escape stands for an ASCII character or a surrogate: only then can there be NUL or half a pair. */
      has_escapes: boolean
    }

const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c
/** `[` and `{`, `]` and `}` differ in this bit only. */
const BRACE = 0x20
const OPENING = 0x5b
const CLOSING = 0x5d

/**
 * Counts values outside of texts, and stops at the first limit. It needs no correct JSON: the parser finds what is
 * wrong.
 * @param most.values objects, arrays, texts, numbers, true, false and null, the outermost one included
 * @param most.depth objects and arrays inside of each other
 */
export function scanJson(bytes: Uint8Array, most: { values: number; depth: number }): JsonScan {
  let values = 1
  let depth = 0
  let has_escapes = false
  /** The byte before this one that is no space. */
  let last = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!
    if (byte <= 0x20) continue
    if (byte === QUOTE) {
      for (at++; at < bytes.length && bytes[at] !== QUOTE; at++) {
        if (bytes[at] !== BACKSLASH) continue
        has_escapes ||= isSuspect(bytes, at + 1)
        at++
      }
    } else if (byte === COMMA) values++
    else if ((byte & ~BRACE) === OPENING) depth++
    else if ((byte & ~BRACE) === CLOSING) {
      depth--
      // Commas separate values: an array with one comma has two, and an array without any has one or none.
      if ((last & ~BRACE) !== OPENING) values++
    }
    if (depth > most.depth) return { fault: 'too deep' }
    if (values > most.values) return { fault: 'too many values' }
    last = byte
  }
  return { has_escapes }
}

/** Tells if `u00` or a surrogate, `ud8` to `udf`, stands at `at`, in any case. */
function isSuspect(bytes: Uint8Array, at: number): boolean {
  if (bytes[at] !== 0x75) return false
  const [first = 0, second = 0] = [bytes[at + 1], bytes[at + 2]]
  if (first === 0x30) return second === 0x30
  return (first | 0x20) === 0x64 && (second >= 0x38 || (second | 0x20) >= 0x61)
}
