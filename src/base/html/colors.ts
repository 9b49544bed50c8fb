/** Finds colours that hide text: those that show little or nothing, and those too near to the ground. Pure. */
import { channelsOf } from '../runtime/color-channels'
import { VOID } from './tag-names'

/** Colours that are (nearly) that of the page, whatever it is. */
const OF_THE_PAGE = 'transparent|canvas|field|window|background|buttonface|menu|inactivecaption'
const PART = /\s*[\d.]{1,8}(?:%|deg)?\s*/.source
/** An alpha of half or more: fainter text counts as hidden. */
const ALPHA = /\s*(?:1(?:\.0{0,4})?|0?\.[5-9]\d{0,4}|(?:[5-9]\d|100)(?:\.\d{1,4})?%)\s*/.source

/** A colour that text may have. */
export const TEXT_COLOR = new RegExp(
  `^(?:#[0-9a-f]{3}[89a-f]?|#[0-9a-f]{6}(?:[89a-f][0-9a-f])?|(?!(?:${OF_THE_PAGE})$)[a-z]{3,24}` +
    `|(?:rgb|hsl)a?\\(${PART}[\\s,]${PART}[\\s,]${PART}(?:[,/]${ALPHA})?\\))$`,
  'i',
)

/** The contrast that text of any size needs to be read (WCAG 2.2, success criterion 1.4.3). */
const LEAST_CONTRAST = 3

/** Words for a colour that the element gets from around it, or that of text. */
const AS_AROUND =
  /^(?:inherit|initial|unset|revert|currentcolor|(?:window|canvas|button|menu|caption|info|field)text)$/i
/** Words for a ground through which one sees that around it. */
const NO_GROUND = /^(?:inherit|initial|unset|revert|none)$/i

const TAG = /<(\/?)([a-z][a-z\d]*)([^<>]*)>/g
const ATTRIBUTE = / ([a-z-]+)(?:="([^"]*)")?/g

type Color = [red: number, green: number, blue: number]

/**
 * The colours in which an element is seen. `hiding` is the position of the element whose ground hides words here: its
 * children may set a colour for theirs.
 */
type Look = { text: Color; ground: Color; hiding: number | null }

const PAGE: Look = { text: [0, 0, 0], ground: [255, 255, 255], hiding: null }

/** The colours that an element sets, as they are written. */
type Given = { text: string | undefined; ground: string | undefined }

/** Places in a tag where a colour stands. */
type Place = 'color' | 'background-color' | 'bgcolor'

/** Times that the elements are gone through, because a ground that goes changes what is around others. */
const MAX_ROUNDS = 4

/**
 * Takes colours from elements whose words would not stand out from the ground: from the words, and from the ground when
 * that is not enough. What is around an element counts, because it gets its colours from there.
 * @param safe_html as `sanitize-html` writes it: balanced, with double quotes, declarations without white space
 */
export function dropHidingColors(safe_html: string): string {
  if (!safe_html.includes('color')) return safe_html
  const colorOf = colorReader()
  const hiding = new Set<number>()
  for (let round = 1; ; round += 1) {
    const known = hiding.size
    const readable = repaint(safe_html, hiding, round === MAX_ROUNDS ? 'drop' : 'note', colorOf)
    if (hiding.size === known || round === MAX_ROUNDS) return readable
  }
}

/**
 * Drops colours once.
 * @param hiding positions of elements that lose their ground; those whose ground hides words are added
 * @param grounds may hide until words come, or are dropped when no colour is set beside them
 */
function repaint(safe_html: string, hiding: Set<number>, grounds: 'note' | 'drop', colorOf: ColorOf): string {
  const looks: Look[] = []
  let behind = 0
  return safe_html.replace(TAG, (tag, slash: string, name: string, attributes: string, position: number) => {
    const around = looks.at(-1) ?? PAGE
    if (around.hiding !== null && safe_html.slice(behind, position).trim() !== '') hiding.add(around.hiding)
    behind = position + tag.length
    if (slash) looks.pop()
    if (slash) return tag
    const given = attributes.includes('color') ? givenBy(attributes) : null
    const { look, dropped } = given === null ? { look: around, dropped: [] } : lookOf(given, around, colorOf)
    const is_hiding = look.hiding === HERE
    if (is_hiding && (grounds === 'drop' || hiding.has(position))) {
      const rest = lookOf({ ...given!, ground: undefined }, around, colorOf)
      if (!VOID.has(name)) looks.push(rest.look)
      return `<${name}${without(attributes, [...rest.dropped, ...GROUNDS])}>`
    }
    if (!VOID.has(name)) looks.push(is_hiding ? { ...look, hiding: position } : look)
    return dropped.length === 0 ? tag : `<${name}${without(attributes, dropped)}>`
  })
}

type ColorOf = (written: string, ground: Color) => Color | null

const GROUNDS: Place[] = ['background-color', 'bgcolor']
/** Stands for the position of the element itself. */
const HERE = -1

/** Decides which of the given colours stay. */
function lookOf(given: Given, around: Look, colorOf: ColorOf): { look: Look; dropped: Place[] } {
  const ground = given.ground === undefined ? around.ground : groundIn(given.ground, around, colorOf)
  if (ground === null) {
    const { look, dropped } = lookOf({ ...given, ground: undefined }, around, colorOf)
    return { look, dropped: [...dropped, ...GROUNDS] }
  }
  const text = given.text === undefined ? null : textIn(given.text, { ...around, ground }, colorOf)
  if (text !== null && contrast(text, ground) >= LEAST_CONTRAST) {
    return { look: { text, ground, hiding: null }, dropped: [] }
  }
  const dropped: Place[] = given.text === undefined ? [] : ['color']
  if (contrast(around.text, ground) >= LEAST_CONTRAST) {
    return { look: { text: around.text, ground, hiding: null }, dropped }
  }
  return { look: { text: around.text, ground, hiding: given.ground === undefined ? around.hiding : HERE }, dropped }
}

function textIn(written: string, around: Look, colorOf: ColorOf): Color | null {
  return AS_AROUND.test(written) ? around.text : colorOf(written, around.ground)
}

function groundIn(written: string, around: Look, colorOf: ColorOf): Color | null {
  return NO_GROUND.test(written) ? around.ground : colorOf(written, around.ground)
}

/** Finds what a tag sets. A style goes before an attribute. */
function givenBy(attributes: string): Given {
  const given = new Map<string, string>()
  for (const [, name = '', value = ''] of attributes.matchAll(ATTRIBUTE)) {
    if (name === 'color' || name === 'bgcolor') given.set(name, value)
    if (name !== 'style') continue
    for (const declaration of value.split(';')) {
      const colon = declaration.indexOf(':')
      if (declaration.slice(0, colon).endsWith('color')) {
        given.set(`style ${declaration.slice(0, colon)}`, declaration.slice(colon + 1))
      }
    }
  }
  return {
    text: given.get('style color') ?? given.get('color'),
    ground: given.get('style background-color') ?? given.get('bgcolor'),
  }
}

function without(attributes: string, places: Place[]): string {
  return attributes.replace(ATTRIBUTE, (attribute: string, name: string, value = '') => {
    if (places.includes(name as Place)) return ''
    if (name !== 'style') return attribute
    const kept = value.split(';').filter((one: string) => !places.includes(one.slice(0, one.indexOf(':')) as Place))
    return kept.length === 0 ? '' : ` style="${kept.join(';')}"`
  })
}

/** Makes the function that reads a colour as it is seen on a ground; null for one that is unknown. */
function colorReader(): ColorOf {
  const known = new Map<string, number[] | null>()
  return (written, ground) => {
    let found = known.get(written)
    if (found === undefined) {
      // `color="ffffff"` is what old programs write.
      const css = /^(?:[0-9a-f]{3}|[0-9a-f]{6})$/i.test(written) ? `#${written}` : written
      found = channelsOf(css)
      known.set(written, found)
    }
    if (found === null) return null
    const share = found[3]! / 255
    return ground.map((behind, index) => found[index]! * share + behind * (1 - share)) as Color
  }
}

function contrast(one: Color, other: Color): number {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number]
  return (light + 0.05) / (dark + 0.05)
}

function luminance(color: Color): number {
  const [red, green, blue] = color.map((channel) => {
    const share = channel / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  }) as Color
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
