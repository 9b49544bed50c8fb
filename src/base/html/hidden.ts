/** Drops what a mail hides from who reads it, such as the preview text of newsletters. Pure. */
import { Parser } from 'htmlparser2'
import { sheetOf } from './style-sheet'
import { TooDeep, WorkLimit } from './work-limit'

/** Signs of hiding, so that other mail is not read twice. Entities may write any of them. */
const SIGN =
  /display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|mso-hide|opacity\s*:\s*0|font(?:-size)?\s*:[^;"'}]{0,40}?\b0|(?:height|width)\s*:\s*0|\bhidden\b|\bstyle\s{0,9}=\s{0,9}["'][^"'<>]{0,2000}&/i

/** A length of nothing. */
const ZERO = /^0*(?:0|\.0+)\.?(?:px|pt|pc|in|cm|mm|em|rem|ex|ch|vw|vh|%)?$/i
/** A size that depends on the size around. */
const RELATIVE = /^[\d.]+(?:em|ex|%)$|^(?:inherit|unset|smaller|larger)$/i

/** Tells what an element shows: nothing, or only what a child shows again. */
type State = { is_gone: boolean; is_invisible: boolean; has_no_size: boolean }

const SEEN: State = { is_gone: false, is_invisible: false, has_no_size: false }

/**
 * Drops the elements and words that are hidden by `display`, `visibility`, `mso-hide`, `opacity` or a size of nothing,
 * as the style of an element says or a class of the style sheet. HTML with more open elements than is usual stays.
 */
export function withoutHidden(html: string): string {
  if (!SIGN.test(html)) return html
  try {
    return cutHidden(html)
  } catch (error) {
    if (error instanceof TooDeep) return html
    throw error
  }
}

function cutHidden(html: string): string {
  const styleOf = sheetOf(html)
  const limit = new WorkLimit()
  const states: State[] = []
  const kept: string[] = []
  let position = 0
  const cut = (start: number, end: number) => {
    kept.push(html.slice(position, start))
    position = Math.max(position, end)
  }
  const parser: Parser = new Parser({
    onopentag(name, attributes) {
      limit.open()
      const around = states.at(-1) ?? SEEN
      const state = around.is_gone ? around : stateOf(name, attributes, around, styleOf)
      states.push(state)
      if (state.is_gone || (state.is_invisible && name === 'img')) cut(parser.startIndex, parser.endIndex + 1)
    },
    ontext() {
      const { is_gone, is_invisible, has_no_size } = states.at(-1) ?? SEEN
      if (is_gone || is_invisible || has_no_size) cut(parser.startIndex, parser.endIndex + 1)
    },
    onclosetag(_, is_implied) {
      limit.close()
      if (states.pop()?.is_gone && !is_implied) cut(parser.startIndex, parser.endIndex + 1)
    },
  })
  parser.end(html)
  return kept.join('') + html.slice(position)
}

function stateOf(
  name: string,
  attributes: Record<string, string>,
  around: State,
  styleOf: ReturnType<typeof sheetOf>,
): State {
  const style = styleOf(name, attributes)
  if (style.size === 0) return 'hidden' in attributes ? { ...around, is_gone: true } : around
  const value = (property: string) => style.get(property) ?? ''
  const is_clipped = /^(?:hidden|clip)$/.test(value('overflow'))
  const has_no_room = ['height', 'max-height', 'width', 'max-width'].some((property) => ZERO.test(value(property)))
  // A button that Outlook draws in another way is hidden from Outlook alone.
  const is_hidden_in_outlook = value('mso-hide') === 'all' && name !== 'a'
  const is_displayed = 'hidden' in attributes ? value('display') !== '' && value('display') !== 'none' : true
  return {
    is_gone:
      !is_displayed ||
      value('display') === 'none' ||
      is_hidden_in_outlook ||
      (value('opacity') !== '' && ZERO.test(value('opacity'))) ||
      (is_clipped && has_no_room),
    is_invisible: /^(?:hidden|collapse)$/.test(value('visibility'))
      ? true
      : around.is_invisible && value('visibility') !== 'visible',
    has_no_size: hasNoSize(value('font-size') || sizeIn(value('font')), around),
  }
}

function hasNoSize(size: string, { has_no_size }: State): boolean {
  if (size === '') return has_no_size
  return ZERO.test(size) || (has_no_size && RELATIVE.test(size))
}

/** Finds the size in the short form `font: italic 0/0 serif`. */
function sizeIn(font: string): string {
  return /(?:^|\s)(\.?\d[\w.%]*)(?=\/|\s)/.exec(font)?.[1] ?? ''
}
