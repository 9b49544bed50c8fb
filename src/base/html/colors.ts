/** Finds colours that hide text: those that show little or nothing, and that of the ground. Pure. */

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

/** Channels of two colours that are less apart look the same. */
const LEAST_DIFFERENCE = 16

const STYLED_TAG = /<[a-z][a-z\d]*(?: [^<>]*)? style="[^"<>]*"[^<>]*>/g
const COLOR = /(?<=[";])color:([^;"]*);?/
const GROUND = /[";]background-color:([^;"]*)| bgcolor="([^"]*)"/

/**
 * Takes the colour from elements whose text would not stand out from the ground that the same element sets.
 * @param safe_html as `sanitize-html` writes it: attributes in double quotes, and declarations without white space
 */
export function dropHidingColors(safe_html: string): string {
  if (!safe_html.includes('color:')) return safe_html
  return safe_html.replace(STYLED_TAG, (tag) => {
    const color = COLOR.exec(tag)?.[1]
    const [, styled, attribute] = GROUND.exec(tag) ?? []
    const ground = styled ?? attribute
    if (!color || !ground || !looksLike(color, ground)) return tag
    return tag
      .replace(COLOR, '')
      .replace(/;"/, '"')
      .replace(/ style=""/, '')
  })
}

function looksLike(color: string, ground: string): boolean {
  const [one, other] = [Bun.color(color, '[rgb]'), Bun.color(ground, '[rgb]')]
  if (!Array.isArray(one) || !Array.isArray(other)) return color.toLowerCase() === ground.toLowerCase()
  return one.every((channel, index) => Math.abs(channel - other[index]!) < LEAST_DIFFERENCE)
}
