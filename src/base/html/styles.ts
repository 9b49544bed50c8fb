/** Keeps the declarations of style attributes that hide, move and load nothing. Pure. */
import sanitizeHtml, { type IOptions } from 'sanitize-html'
import { TEXT_COLOR } from './colors'
import { escapeHtml, unescapeHtml } from './text'

const COLOR = /^(?:#[0-9a-f]{3,8}|[a-z]{3,24}|rgba?\([\d\s.,%/]{1,40}\)|hsla?\([\d\s.,%/deg]{1,40}\))$/i
/** Sizes that are large enough to be read. */
const TEXT_SIZE =
  /^(?:(?:[5-9]|[1-9]\d{1,3})(?:\.\d{1,4})?(?:px|pt)|(?:0?\.[5-9]\d{0,3}|[1-9]\d?(?:\.\d{1,4})?)(?:em|rem|ex)|(?:[5-9]\d|[1-9]\d{2,3})(?:\.\d{1,4})?%)$/i
/** Lengths above zero: nothing may be shrunk away or moved over something else. */
const LENGTH = /^(?:[1-9]\d{0,3}(?:\.\d{1,4})?|0?\.[1-9]\d{0,3})(?:px|pt|em|rem|ex|%)$/i
const SPACING = /^(?:(?:auto|0|\d{1,3}(?:\.\d{1,4})?(?:px|pt|em|rem|ex|%)?)(?:\s+|$)){1,4}$/i
const BORDER =
  /^(?:(?:\d{1,2}(?:\.\d{1,4})?(?:px|pt|em)?|thin|medium|thick|none|solid|dashed|dotted|double|groove|ridge|inset|outset|#[0-9a-f]{3,8}|rgba?\([\d.,%]{1,30}\)|[a-z]{3,20})(?:\s+|$)){1,4}$/i

const STYLES: Record<string, RegExp[]> = {
  color: [TEXT_COLOR],
  'background-color': [COLOR],
  'font-family': [/^[\w\s"',.-]{1,200}$/],
  'font-size': [TEXT_SIZE, /^(?:x{1,2}-)?(?:small|large)$|^(?:medium|smaller|larger)$/i],
  'font-style': [/^(?:normal|italic|oblique)$/i],
  'font-weight': [/^(?:normal|bold|bolder|lighter|[1-9]00)$/i],
  'text-align': [/^(?:left|right|center|justify|start|end)$/i],
  'text-decoration': [/^(?:none|underline|line-through|overline)$/i],
  'vertical-align': [/^(?:top|middle|bottom|baseline|sub|super)$/i],
  'white-space': [/^(?:normal|nowrap|pre|pre-wrap|pre-line)$/i],
  'line-height': [TEXT_SIZE, /^(?:normal|[1-9](?:\.\d{1,4})?)$/i],
  'list-style-type': [/^[a-z-]{1,30}$/i],
  direction: [/^(?:ltr|rtl)$/i],
  width: [LENGTH, /^auto$/i],
  'max-width': [LENGTH, /^none$/i],
  'border-collapse': [/^(?:collapse|separate)$/i],
  ...Object.fromEntries(['margin', 'padding'].flatMap((name) => sides(name).map((side) => [side, [SPACING]]))),
  ...Object.fromEntries(sides('border').map((side) => [side, [BORDER]])),
}

/**
 * Returns a function that keeps the allowed declarations of a style attribute. Mail programs repeat a few of them on
 * every element: each is parsed once. Without that the styles of 500 kB from Outlook took a third of the sanitizer's
 * time.
 */
export function styleReader() {
  const known = new Map<string, string>()
  return (style: string): string => {
    const kept = known.get(style) ?? readStyle(style)
    known.set(style, kept)
    return kept
  }
}

/** Finds the colour in the short form `background`. Newsletters set white words on it. */
const SHORT_GROUND =
  /(^|;)\s*background\s*:\s*(#[0-9a-f]{3,8}|rgba?\([\d\s.,%/]{1,40}\)|[a-z]{3,24}(?=\s*(?:[!;]|$)))[^;]*/gi

function readStyle(style: string): string {
  const long = style.replace(SHORT_GROUND, '$1background-color:$2')
  const html = sanitizeHtml(`<p style="${escapeHtml(long)}">`, STYLE_OPTIONS)
  return unescapeHtml(/style="([^"]*)"/.exec(html)?.[1] ?? '')
}

const STYLE_OPTIONS: IOptions = {
  allowedTags: ['p'],
  allowedAttributes: { p: ['style'] },
  allowedStyles: { p: STYLES },
}

function sides(name: string): string[] {
  return [name, ...['top', 'right', 'bottom', 'left'].map((side) => `${name}-${side}`)]
}
