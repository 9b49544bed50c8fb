/** Turns stored HTML into what a page or an email shows: places images, and puts what sticks out into a box. Pure. */

/** The sanitizer writes the address of an image first. */
const IMAGE = /<img ((?:data-)?src)="([^"]*)"/g
const ATTACHMENT = /\/api\/v1\/attachments\/([0-9a-f-]{36})\/content(?:\?|$)/i

/** Matches all but text, paragraphs and links, which stay in their place by themselves. */
const MAY_STICK_OUT =
  /<(?!\/?(?:a|abbr|b|br|cite|code|del|div|em|i|ins|kbd|mark|p|q|s|small|span|strong|sub|sup|u)[ >])|<[a-z]+ [^>]*\b(?:style|align)=|(?:^|>)[^<>]*?[^\s<>]{40}/
const BOX = '<div style="overflow: auto; overflow-wrap: break-word">'

/** Gives the address of an attachment that the message may show. */
type UrlOf = (attachment_id: string) => string | undefined

/**
 * Images from elsewhere: `load` puts all addresses into `src`, `wait` puts all into `data-src`, `as written` leaves
 * https addresses where the author put them and lets the others wait.
 */
type RemoteImages = 'load' | 'wait' | 'as written'

/**
 * Makes the HTML of a page. Styles, sizes and long words that could cover what is around the message are in a box.
 * @param remote `wait` for what a customer wrote: stored HTML of earlier versions has remote images of email in `src`
 */
export function viewHtml(html: string, urlOf: UrlOf, remote: Exclude<RemoteImages, 'load'>): string {
  const shown = placeImages(html, urlOf, remote)
  return MAY_STICK_OUT.test(shown) ? `${BOX}${shown}</div>` : shown
}

/** Takes the box away that `viewHtml` has put around stored HTML. */
export function unboxed(html: string): string {
  return html.startsWith(BOX) && html.endsWith('</div>') ? html.slice(BOX.length, -'</div>'.length) : html
}

/** Gives images that are attachments their addresses. Images that the text itself holds (`data:`) stay as they are. */
export function placeImages(html: string, urlOf: UrlOf, remote: RemoteImages): string {
  return html.replace(IMAGE, (image, written: string, address: string) => {
    if (/^data:/i.test(address)) return image
    const attachment_id = ATTACHMENT.exec(address)?.[1]
    const url = attachment_id && urlOf(attachment_id)
    if (url) return `<img src="${url.replaceAll('&', '&amp;')}"`
    const loads = remote === 'load' || (remote === 'as written' && written === 'src' && /^https:/i.test(address))
    return `<img ${loads ? 'src' : 'data-src'}="${address}"`
  })
}
