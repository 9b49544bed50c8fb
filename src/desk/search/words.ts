/**
 * Words of texts and of searches, as the search index holds them. Pure.
 *
 * PostgreSQL's `to_tsvector('simple', …)` does not serve here: it cannot put the organization's number before a word,
 * it keeps email addresses, hosts and paths whole, and it takes a sentence of a script without spaces for one word
 * (ticket-search.test.ts: "takes addresses and the like as their parts in that order", "finds each character of writing
 * without spaces, and several as a phrase").
 */
import { firstCharacters } from '../../base/address/characters'
import { fold, isAscii } from '../../base/shapes/fold'

/** In UTF-16 units: the rest of a longer text is not searched. A message from the API is at most half of it. */
const MAX_TEXT = 2_000_000
const PIECE_LENGTH = 50_000
/** In characters. Nobody types a longer word; its beginning finds it. */
const MAX_WORD = 64
/**
 * Limits of PostgreSQL: positions end at 16383, a word has at most 255. Beyond them words are found, phrases are not.
 */
const MAX_POSITION = 16_383
const MAX_POSITIONS = 255
/** Digits of the number of a block, which takes the place of `*` in a prefix. */
const MAX_BLOCK_DIGITS = 5
/** A facet that no ticket has. */
const NOTHING = '@'
/** In words. */
const LONG_PHRASE = 3

const ASCII_RUN = /[a-z0-9]+/g
const RUN = /[\p{L}\p{N}\p{M}]+/gu
/** Scripts without spaces between words: each character is a word, and a search for several of them is a phrase. */
const UNSPACED = '\\p{scx=Han}\\p{scx=Hiragana}\\p{scx=Katakana}\\p{scx=Thai}\\p{scx=Lao}\\p{scx=Khmer}\\p{scx=Myanmar}'
const IS_UNSPACED = new RegExp(`[${UNSPACED}]`, 'u')
const PIECE = new RegExp(`[${UNSPACED}]|[^${UNSPACED}]+`, 'gu')

/** A ticket code, as it stands in subjects (`[ACME-12]`) and in sentences (`ACME-12,`). */
const CODE = /^[^\p{L}\p{N}]*([a-z][a-z0-9]{0,9}-\d{1,10})[^\p{L}\p{N}]*$/iu

/** Cuts a long text into pieces, so that no more of it is folded than the document has room for. */
function* piecesOf(text: string): Generator<string> {
  for (let start = 0; start < text.length; ) {
    const end = endOfPiece(text, start)
    yield text.slice(start, end)
    start = end
  }
}

/** Cuts between words where there is white space, else between characters. */
function endOfPiece(text: string, start: number): number {
  const end = start + PIECE_LENGTH
  if (end >= text.length) return text.length
  const space = text.slice(end, end + MAX_WORD * 2).search(/\s/)
  if (space >= 0) return end + space
  return text.codePointAt(end - 1)! > 0xffff ? end + 1 : end
}

/** The words of a text, folded (`fold.ts`), in order. */
export function wordsOf(text: string): string[] {
  const folded = fold(text.toWellFormed())
  if (isAscii(folded)) return (folded.match(ASCII_RUN) ?? []).map(cut)
  const runs = folded.match(RUN) ?? []
  return runs.flatMap((run) => (IS_UNSPACED.test(run) ? run.match(PIECE)! : run)).map(cut)
}

export type SearchVector = { vector: string; size: number }

/**
 * Writes a text as a literal of a tsvector whose words carry a prefix: `'17.3:printer':2,5 '17.3:fire':3`.
 * @param prefix see `blocks.ts`
 * @param limit bytes; the rest of the text is left out
 * @returns `size`: an upper bound of the bytes that the words take in a document
 */
export async function searchVector(prefix: string, text: string, limit: number): Promise<SearchVector> {
  const builder = startVector(prefix, limit)
  await builder.addText(text)
  return builder.finish()
}

/** As `searchVector`, for several texts. No phrase runs from the end of one text into the next. */
export function startVector(prefix: string, limit: number) {
  const positions = new Map<string, number[]>()
  const facets = new Set<string>()
  const prefix_bytes = `${prefix}:`.length + MAX_BLOCK_DIGITS
  let size = 0
  let position = 0
  /** @returns false when the word does not fit any more */
  const add = (word: string) => {
    const at = Math.min(position, MAX_POSITION)
    const known = positions.get(word)
    if (known && (known.length >= MAX_POSITIONS || known.at(-1) === at)) return true
    const bytes = known ? 2 : prefix_bytes + Buffer.byteLength(word) + 5
    if (size + bytes > limit) return false
    size += bytes
    if (known) known.push(at)
    else positions.set(word, [at])
    return true
  }
  return {
    /** Adds a property of the ticket (`facetWord`). */
    addFacet(facet: string) {
      facets.add(facet)
    },
    addCode(code: string) {
      position += 1
      add(codeWord(code))
    },
    /**
     * Lets others have their turn between two pieces: a million characters take half a second.
     * @returns false when the document is full
     */
    async addText(text: string): Promise<boolean> {
      position += 1
      let is_first = true
      for (const piece of piecesOf(text.slice(0, MAX_TEXT))) {
        if (!is_first) await new Promise<void>((resolve) => setImmediate(resolve))
        is_first = false
        for (const word of wordsOf(piece)) {
          position += 1
          if (!add(word)) return false
        }
      }
      return true
    },
    finish(): SearchVector {
      // Words of a text and codes hold nothing that must be escaped.
      const start = lexeme(prefix, '').slice(0, -1)
      const entries = [...positions].map(([word, at]) => `${start}${word}':${at.length === 1 ? at[0] : at.join(',')}`)
      return { vector: [...entries, ...[...facets].map((word) => lexeme(prefix, word))].join(' '), size }
    },
  }
}

/** A search as literals of a tsquery. */
export type SearchQuery = {
  /** The words that the index looks up. It may find more than `whole`. */
  found: string
  /** The words that a document must match. */
  whole: string
}

/**
 * Writes a search: all terms must match. A term in quotes, and one of several words such as an email address, matches
 * as a phrase; the last word also as a prefix, unless it is in quotes; a code finds its ticket.
 * @param prefix of the words, see `blocks.ts`
 * @param facets lists of facets (`facetWord`): the ticket must have at least one of each list. An empty list finds
 *   nothing
 * @returns undefined when the search holds no word: it matches nothing
 */
export function toTsquery(prefix: string, search: string, facets: string[][] = []): SearchQuery | undefined {
  const terms = [...search.replace(/[“”„]/g, '"').matchAll(/"([^"]*)"|[^\s"]+/g)]
    .map(([all, quoted]) => ({ text: quoted ?? all, words: wordsOf(quoted ?? all), is_quoted: quoted !== undefined }))
    .filter(({ words }) => words.length > 0)
  if (terms.length === 0) return undefined
  const conditions = facets.map((any) => oneOfFacets(prefix, any))
  const written = terms.map((term, index) => writeTerm(prefix, term, index === terms.length - 1 && !term.is_quoted))
  // A word that is repeated is looked up once.
  return {
    found: [...new Set([...written.map(({ found }) => found), ...conditions])].join(' & '),
    whole: [...new Set([...written.map(({ whole }) => whole), ...conditions])].join(' & '),
  }
}

/** As `toTsquery`, for facets alone. */
export function facetQuery(prefix: string, facets: string[][]): SearchQuery {
  const found = facets.map((any) => oneOfFacets(prefix, any)).join(' & ')
  return { found, whole: found }
}

function oneOfFacets(prefix: string, any: string[]): string {
  return `(${(any.length > 0 ? any : [NOTHING]).map((facet) => lexeme(prefix, facet)).join(' | ')})`
}

/**
 * The index looks up the words of a phrase, not their order. A beginning at the end of a long phrase is not looked up:
 * in `carla.smith@mail.example` the names are rare, but all words that begin with `example` would be read.
 */
function writeTerm(
  prefix: string,
  { text, words }: { text: string; words: string[] },
  is_beginning: boolean,
): SearchQuery {
  const lexemes = words.map((word, place) => {
    const is_last = place === words.length - 1
    return `${lexeme(prefix, word)}${is_beginning && is_last ? ':*' : ''}`
  })
  const is_long = is_beginning && words.length >= LONG_PHRASE
  const code = text.match(CODE)?.[1]
  const orCode = (query: string) => (code ? `(${lexeme(prefix, codeWord(code))} | ${query})` : `(${query})`)
  return {
    found: orCode([...new Set(is_long ? lexemes.slice(0, -1) : lexemes)].join(' & ')),
    whole: orCode(lexemes.join(' <-> ')),
  }
}

/** The word for a property: status, priority, the id of an assignee or of a label, the word of a custom field. */
export function facetWord(value: string): string {
  return `@${value.toLowerCase()}`
}

/** The word for a ticket's code. No text has a word with `#` or `@`, so that words never find codes and facets. */
function codeWord(code: string): string {
  return `#${code.toLowerCase()}`
}

function lexeme(prefix: string, word: string): string {
  return `'${`${prefix}:${word}`.replace(/['\\]/g, '$&$&')}'`
}

function cut(word: string): string {
  return firstCharacters(word, MAX_WORD)
}
