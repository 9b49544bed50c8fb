/**
 * Finds the words of a mail around what its HTML marks as a quotation, in whatever language it is announced. Pure, and
 * linear in the length.
 */
import { Parser } from 'htmlparser2'
import { TooDeep, WorkLimit } from '../../base/html/work-limit'

/** Classes of elements that hold a quotation, with its announcement. */
const CLASSES = new Set([
  ...['gmail_quote', 'gmail_quote_container', 'yahoo_quoted', 'zmail_extra', 'tutanota_quote', 'protonmail_quote'],
  ...['moz-forward-container', 'ms-outlook-mobile-reference-message', 'sh-quoted-content', 'missive_quote'],
  ...['front-blockquote', 'spark_quote', 'ntes-mailmaster-quote', 'mail-quote-collapse'],
])
/** Ids and names of such elements. */
const IDS = /^(?:OLK_SRC_BODY_SECTION|mail-editor-reference-message-container|yahoo_quoted_\d{1,20}|isReplyContent)$/
const NAMES = /^(?:quote|messageReplySection)$/
/** Ids of elements of Outlook behind which everything is quoted. */
const BEGINNINGS = new Set(['divRplyFwdMsg', 'appendonsend'])
/** The line that Outlook draws above the header of a quotation. */
const OUTLOOK_RULE =
  /^border:none;border-top:solid #(?:e1e1e1|b5c4df) 1\.0pt;padding:3\.0pt 0(?:in|cm) 0(?:in|cm) 0(?:in|cm)/

/** Signs of all of these, so that other mail is not read twice. */
const SIGN =
  /_quote|-quote|zmail_extra|moz-(?:cite-prefix|forward)|reference-message|type\s*=\s*["']?cite|OLK_SRC_BODY|isReplyContent|messageReplySection|name\s*=\s*["']?quote|divRplyFwdMsg|appendonsend|__DIVIDER__|border-top:\s*solid #(?:e1e1e1|b5c4df)/i

/** Ends a line with the inline elements in it. */
const BLOCK =
  /^(?:p|div|br|hr|blockquote|table|tr|td|th|ul|ol|li|h[1-6]|pre|dl|dt|dd|section|article|header|footer|center|body)$/
/** An announcement of a program ends so, and has a date or an address. */
const ANNOUNCES = /^(?=.*[\p{Nd}@]).{5,300}(?:[:：]|-{3})$/u
/** Longer lines announce nothing. */
const MAX_LINE = 400

/** Lines of an announcement. The header of a mail that is passed on has more. */
const MAX_ANNOUNCEMENT = 3

type Line = { text: string; start: number }
type Piece = { start: number; end: number }
/** An open element that holds a quotation, or everything behind it. */
type Holder = { depth: number; start: number; is_quote: boolean; lines: number }

/** The HTML above and below the quotations of a mail. */
type AroundHtml = { above: string; below: string }

/**
 * Finds the quotations of a mail.
 * @returns `around` is null when none is marked, and when words stand between two of them, which are answers to them;
 *   `shows_own`: the writer shows something in a quotation that has no mark, and no line above announces it
 */
export function readQuotations(html: string): { around: AroundHtml | null; shows_own: boolean } {
  const none = { around: null, shows_own: false }
  if (!SIGN.test(html) && !/<blockquote/i.test(html)) return none
  try {
    const { pieces, has_words_between, shows_own } = new Finder(html)
    if (pieces.length === 0 || has_words_between) return { around: null, shows_own }
    return { around: { above: html.slice(0, pieces[0]!.start), below: html.slice(pieces.at(-1)!.end) }, shows_own }
  } catch (error) {
    if (error instanceof TooDeep) return none
    throw error
  }
}

class Finder {
  readonly pieces: Piece[] = []
  has_words_between = false
  shows_own = false
  readonly #limit = new WorkLimit()
  #depth = 0
  #holder: Holder | null = null
  /** Elements whose text nobody sees. */
  #unread = 0
  #has_words_since = false
  /** The line that is read, and the one before it. */
  #line: Line = { text: '', start: 0 }
  #last: Line = { text: '', start: 0 }
  /** Where Thunderbird announces a quotation, until other words follow. */
  #prefix: { start: number; depth: number; is_open: boolean } | null = null
  readonly #parser: Parser
  readonly #length: number

  constructor(html: string) {
    this.#length = html.length
    this.#parser = new Parser({
      onopentag: (name, attributes) => this.#open(name, attributes),
      ontext: (text) => this.#text(text),
      onclosetag: (name) => this.#close(name),
    })
    this.#parser.end(html)
    if (this.#holder) this.#add({ start: this.#holder.start, end: html.length })
  }

  #open(name: string, attributes: Record<string, string>): void {
    this.#limit.open()
    this.#depth += 1
    if (BLOCK.test(name)) this.#endLine()
    if (name === 'style' || name === 'script' || name === 'title') this.#unread += 1
    const is_quote = name === 'blockquote'
    if (this.#holder) {
      const { depth, lines } = this.#holder
      const is_announced = is_quote && this.#depth === depth + 1 && lines <= MAX_ANNOUNCEMENT
      // The quotation ends before the element does: answers may follow.
      if (is_announced && !this.#holder.is_quote) this.#holder = { ...this.#holder, depth: this.#depth, is_quote }
      return
    }
    if (/(?:^|\s)moz-cite-prefix(?:\s|$)/.test(attributes.class ?? '')) {
      this.#prefix = { start: this.#parser.startIndex, depth: this.#depth, is_open: true }
    }
    if (isBeginning(attributes)) this.#hold(this.#parser.startIndex, true, 0)
    else if (is_quote) this.#openQuote(attributes)
    else if (isHolder(attributes)) this.#hold(this.#parser.startIndex, false)
  }

  /** A quotation without an announcement may be what its writer wants to show. */
  #openQuote(attributes: Record<string, string>): void {
    const announced = this.#announced()
    const is_marked = isHolder(attributes) && !/(?:^|\s)gmail_quote(?:\s|$)/.test(attributes.class ?? '')
    const is_cited = attributes.type?.toLowerCase() === 'cite' || isHolder(attributes)
    if (is_marked || (is_cited && (announced !== null || this.pieces.length > 0)))
      this.#hold(announced ?? this.#parser.startIndex, true)
    else if (!is_cited && announced === null && this.#has_words_since) this.shows_own = true
  }

  /** Where the announcement of what follows begins. */
  #announced(): number | null {
    if (this.#prefix) return this.#prefix.start
    const line = this.#line.text === '' ? this.#last : this.#line
    return ANNOUNCES.test(line.text.trim()) ? line.start : null
  }

  #hold(start: number, is_quote: boolean, depth = this.#depth): void {
    this.#holder = { depth, start, is_quote, lines: 0 }
  }

  #text(text: string): void {
    if (this.#unread > 0) return
    const is_blank = text.trim() === ''
    if (!is_blank && !this.#holder) this.#has_words_since = true
    if (!is_blank && this.#prefix && !this.#prefix.is_open) this.#prefix = null
    if (this.#line.text === '' && is_blank) return
    if (this.#line.text === '') this.#line = { text: text.slice(0, MAX_LINE), start: this.#parser.startIndex }
    else if (this.#line.text.length < MAX_LINE) this.#line.text += text.slice(0, MAX_LINE)
  }

  #close(name: string): void {
    this.#limit.close()
    if (this.#holder?.depth === this.#depth) {
      this.#add({ start: this.#holder.start, end: Math.min(this.#parser.endIndex + 1, this.#length) })
      this.#holder = null
    }
    if (this.#prefix?.depth === this.#depth) this.#prefix.is_open = false
    if (name === 'style' || name === 'script' || name === 'title') this.#unread -= 1
    if (BLOCK.test(name)) this.#endLine()
    this.#depth -= 1
  }

  #add(piece: Piece): void {
    if (this.pieces.length > 0 && this.#has_words_since) this.has_words_between = true
    this.pieces.push(piece)
    this.#has_words_since = false
  }

  #endLine(): void {
    if (this.#line.text !== '') {
      this.#last = this.#line
      if (this.#holder) this.#holder.lines += 1
    }
    this.#line = { text: '', start: this.#parser.startIndex }
  }
}

function isBeginning(attributes: Record<string, string>): boolean {
  const style = (attributes.style ?? '')
    .slice(0, 200)
    .toLowerCase()
    .replace(/\s*([:;])\s*/g, '$1')
  return BEGINNINGS.has(attributes.id ?? '') || attributes['data-marker'] === '__DIVIDER__' || OUTLOOK_RULE.test(style)
}

function isHolder({ class: given = '', id = '', name = '' }: Record<string, string>): boolean {
  return given.split(/\s+/, 30).some((one) => CLASSES.has(one)) || IDS.test(id) || NAMES.test(name)
}
