/**
 * Reads an Authentication-Results field (RFC 8601, section 2.2). Pure.
 *
 * The parser of mailauth joins the words around a comment, knows no blanks around `=` and `.`, and keeps the last of
 * several results: "a relay that writes" in tests/mail/sender/sender-checks.test.ts.
 */

/** One result, such as `dmarc=fail (p=reject) header.from=example.com`. */
type ResultOfMethod = {
  /** Such as `dmarc`, in lower case, without its version. */
  method: string
  result: string
  /** Such as `header.from`, in lower case, with what each is. */
  properties: Map<string, string>
  /** The texts of the comments behind the name of the method. */
  comments: string[]
}

type AuthenticationResults = { authserv_id: string; results: ResultOfMethod[] }

/** Stands for the null sender behind `smtp.mailfrom=`. */
const NOTHING = { type: 'word', text: '' } as const

type Token = { type: 'word' | 'comment' | '=' | ';'; text: string }

const BLANKS = /[ \t\r\n]+/y
/**
 * Parts of a word: a quoted string, or characters that mean nothing else. Only a value may hold `=`, as base64 does.
 */
const PART_OF_NAME = /"(?:[^"\\]|\\.)*"|[^\s"();=\\]+/y
const PART_OF_VALUE = /"(?:[^"\\]|\\.)*"|[^\s"();\\]+/y
const PART_OF_COMMENT = /[^()\\]+|\\./sy

/** @returns undefined for a text of another form, also where a part of it could be understood */
export function parseAuthenticationResults(text: string): AuthenticationResults | undefined {
  const tokens = tokensOf(text)
  if (!tokens) return undefined
  const [first = [], ...others] = splitAtSemicolons(tokens)
  const head = first.filter(({ type }) => type !== 'comment')
  const [id, version] = head.map((token) => token.text)
  if (!id || head.length > 2 || head.some(({ type }) => type === '=') || !/^\d*$/.test(version ?? '')) return undefined
  const results = others.filter((tokens) => tokens.some(({ type }) => type === '=')).map(readResult)
  if (!results.every((one) => one !== undefined)) return undefined
  return { authserv_id: id.toLowerCase(), results }
}

/** Comments and blanks may stand around `=`, and around the dot and the slash of a name. */
function readResult(tokens: Token[]): ResultOfMethod | undefined {
  const comments = tokens.filter(({ type }) => type === 'comment').map(({ text }) => text)
  const words = tokens.filter(({ type }) => type !== 'comment')
  const properties = new Map<string, string>()
  let name = ''
  for (let at = 0; at < words.length; at++) {
    if (words[at]!.type === 'word') {
      name += words[at]!.text.toLowerCase()
      continue
    }
    at += 1
    const value = words[at] ?? NOTHING
    // A property that is given twice could be read in two ways.
    if (name === '' || value.type !== 'word' || properties.has(name)) return undefined
    properties.set(name, value.text)
    name = ''
  }
  const [[method, result]] = [...properties] as [[string, string]]
  properties.delete(method)
  return name === '' ? { method: method.split('/')[0]!, result, properties, comments } : undefined
}

function splitAtSemicolons(tokens: Token[]): Token[][] {
  const parts: Token[][] = [[]]
  for (const token of tokens) {
    if (token.type === ';') parts.push([])
    else parts.at(-1)!.push(token)
  }
  return parts
}

function tokensOf(text: string): Token[] | undefined {
  const tokens: Token[] = []
  for (let at = 0; at < text.length; ) {
    const char = text[at]!
    const end = endOf(BLANKS, text, at)
    if (end > at) at = end
    else if (char === ';' || char === '=') {
      tokens.push({ type: char, text: char })
      at += 1
    } else {
      const token = char === '(' ? readComment(text, at) : readWord(text, at, tokens.at(-1)?.type === '=')
      if (!token) return undefined
      tokens.push(token)
      at = token.end
    }
  }
  return tokens
}

/** Reads parts that no blank parts, such as `"a b"@example.com`. */
function readWord(text: string, start: number, is_value: boolean): (Token & { end: number }) | undefined {
  const part = is_value ? PART_OF_VALUE : PART_OF_NAME
  let word = ''
  let at = start
  for (let end = endOf(part, text, at); end > at; end = endOf(part, text, at)) {
    const piece = text.slice(at, end)
    word += piece.startsWith('"') ? piece.slice(1, -1).replace(/\\(.)/g, '$1') : piece
    at = end
  }
  return at > start ? { type: 'word', text: word, end: at } : undefined
}

/** Comments nest. */
function readComment(text: string, start: number): (Token & { end: number }) | undefined {
  let depth = 0
  for (let at = start; at < text.length; ) {
    const char = text[at]!
    if (char === '(') depth += 1
    if (char === ')') depth -= 1
    if (depth === 0) return { type: 'comment', text: text.slice(start + 1, at), end: at + 1 }
    const end = char === '(' || char === ')' ? at + 1 : endOf(PART_OF_COMMENT, text, at)
    if (end === at) return undefined
    at = end
  }
  return undefined
}

/** The place behind what a sticky pattern matches at a place; the same place when it does not. */
function endOf(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : at
}
