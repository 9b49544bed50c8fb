/** Finds the pictures of HTML: rewrites their addresses, and takes those out that the HTML itself holds. Pure. */
import { escapeHtml, unescapeHtml } from './text'

/** A picture that HTML held itself, as a `data:` address. */
export type HeldPicture = { content_type: string; bytes: Uint8Array }

/** Gives an image another address; undefined leaves it as it is. */
type Give = (address: string) => string | undefined

const SIGN = /<(?:!--|img(?=[\s/]))/gi
const ATTACHMENT = /\/api\/v1\/attachments\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\/content(?:[?#]|$)/i

/** Reads the id of the attachment whose bytes are at an address; undefined for any other address. */
export function attachmentAt(address: string): string | undefined {
  return ATTACHMENT.exec(address.slice(0, 2048))?.[1]?.toLowerCase()
}

/** Reads the Content-ID of an address (RFC 2392); undefined for any other address. */
export function contentIdAt(address: string): string | undefined {
  if (!/^cid:/i.test(address.slice(0, 4))) return undefined
  try {
    return decodeURIComponent(address.slice(4))
  } catch {
    return address.slice(4)
  }
}

/**
 * Gives the images of HTML as somebody wrote it other addresses, and changes nothing else of it. Images in comments
 * stay. The time is linear in the length.
 */
export function rewriteImages(html: string, give: Give): string {
  let result = ''
  let from = 0
  SIGN.lastIndex = 0
  for (let sign = SIGN.exec(html); sign; sign = SIGN.exec(html)) {
    if (sign[0] === '<!--') {
      const end = html.indexOf('-->', sign.index + 2)
      if (end < 0) break
      SIGN.lastIndex = end + 3
      continue
    }
    const tag = readImage(html, sign.index + sign[0].length)
    if (!tag) break
    SIGN.lastIndex = tag.end
    const value = tag.source && html.slice(tag.source.start, tag.source.end)
    const address = value === undefined ? undefined : give((value.includes('&') ? unescapeHtml(value) : value).trim())
    if (!tag.source || address === undefined) continue
    const quote = tag.source.quote === '' ? '"' : ''
    result += html.slice(from, tag.source.start) + quote + escapeHtml(address) + quote
    from = tag.source.end
  }
  return result + html.slice(from)
}

type Value = { start: number; end: number; quote: string }

/** Reads the attributes of an image. @returns the value that has its address, as browsers take it; undefined: no end */
function readImage(html: string, start: number): { source: Value | undefined; end: number } | undefined {
  const values = new Map<string, Value>()
  for (let place = start; ; ) {
    place = nextOf(/[^\s/]/g, html, place)
    if (place >= html.length) return undefined
    if (html[place] === '>') {
      const source = [values.get('src'), values.get('data-src')].find((one) => one && one.end > one.start)
      return { source, end: place + 1 }
    }
    const name_end = nextOf(/[\s/>=]/g, html, place + 1)
    const name = html.slice(place, Math.min(name_end, place + 20)).toLowerCase()
    place = nextOf(/\S/g, html, name_end)
    if (html[place] !== '=') continue
    const value = readValue(html, nextOf(/\S/g, html, place + 1))
    if (!value) return undefined
    if (!values.has(name)) values.set(name, value)
    place = value.end + value.quote.length
  }
}

function readValue(html: string, start: number): Value | undefined {
  const quote = /["']/.exec(html[start] ?? '')?.[0] ?? ''
  if (quote === '') return { start, end: nextOf(/[\s>]/g, html, start), quote }
  const end = html.indexOf(quote, start + 1)
  return end < 0 ? undefined : { start: start + 1, end, quote }
}

/** Finds the next place of a character, else the end. A search for one character takes linear time. */
function nextOf(character: RegExp, html: string, from: number): number {
  character.lastIndex = from
  return character.exec(html)?.index ?? html.length
}

/** Characters of the header of a `data:` address, and of data in which each byte may be encoded by three. */
const MOST_HEADER = 200
const MOST_ENCODED = 1_000_000

/** Reads a picture that stands in its address (RFC 2397); null for any other address, and for one without bytes. */
function readHeldPicture(address: string): HeldPicture | null {
  if (!isHeld(address)) return null
  const comma = address.slice(0, MOST_HEADER).indexOf(',')
  const header = comma < 0 ? '' : address.slice('data:'.length, comma)
  const content_type = /^image\/[a-z0-9.+-]{1,60}(?=\s*(?:;|$))/i.exec(header)?.[0].toLowerCase()
  if (!content_type) return null
  let data = Buffer.from(address.slice(comma + 1))
  if (data.includes('%')) {
    if (data.length > MOST_ENCODED) return null
    const decoded = data
      .toString('latin1')
      .replace(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(parseInt(hex, 16)))
    data = Buffer.from(decoded, 'latin1')
  }
  const bytes = /;\s*base64\s*$/i.test(header) ? Buffer.from(data.toString('latin1'), 'base64') : data
  return bytes.length === 0 ? null : { content_type, bytes }
}

function isHeld(address: string): boolean {
  return /^data:image\//i.test(address.slice(0, 20))
}

/** True for HTML that may hold pictures itself. */
export function mayHoldPictures(html: string): boolean {
  return /data:image\//i.test(html)
}

/**
 * Takes the pictures out of HTML that it holds itself. What cannot be read stays.
 * @param take gives the address in the place of a picture; undefined leaves it there. Asked once for equal pictures
 */
export function takePictures(html: string, take: (picture: HeldPicture) => string | undefined): string {
  if (!mayHoldPictures(html)) return html
  const taken = new Map<string, string | undefined>()
  return rewriteImages(html, (address) => {
    if (!isHeld(address)) return undefined
    if (!taken.has(address)) {
      const picture = readHeldPicture(address)
      taken.set(address, picture ? take(picture) : undefined)
    }
    return taken.get(address)
  })
}

/** Gives HTML with a short address in the place of each picture that it holds itself. */
export function withoutHeldPictures(html: string): string {
  return takePictures(html, () => `cid:${'0'.repeat(36)}`)
}

/** The sanitizer writes the address of an image first. */
const SAFE_IMAGE = /<img ((?:data-)?src)="([^"]*)"/g

/**
 * Gives the images of safe HTML other addresses.
 * @param give gets the address and the attribute that has it, and gives both; undefined leaves the image as it is
 */
export function placeSafeImages(
  safe_html: string,
  give: (address: string, written: string) => { [attribute: string]: string } | undefined,
): string {
  return safe_html.replace(SAFE_IMAGE, (image, written: string, address: string) => {
    const [placed] = Object.entries(give(unescapeHtml(address), written) ?? {})
    return placed ? `<img ${placed[0]}="${escapeHtml(placed[1])}"` : image
  })
}
