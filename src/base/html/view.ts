/** Turns stored HTML into what a page or an email shows: places images, and puts what sticks out into a box. Pure. */

import { attachmentAt, placeSafeImages } from './image-addresses'

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
  return placeSafeImages(html, (address, written) => {
    if (/^data:/i.test(address)) return undefined
    const attachment_id = attachmentAt(address)
    const url = attachment_id && urlOf(attachment_id)
    if (url) return { src: url }
    const loads = remote === 'load' || (remote === 'as written' && written === 'src' && /^https:/i.test(address))
    return { [loads ? 'src' : 'data-src']: address }
  })
}
