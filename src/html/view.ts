/** Sanitized HTML as a page or an email shows it: where images come from, and that nothing sticks out. Pure. */

/** The sanitizer puts the address first; HTML of earlier versions has it in `src`. */
const IMAGE = /<img (?:data-)?src="([^"]*)"/g
const ATTACHMENT = /\/api\/v1\/attachments\/([0-9a-f-]{36})\/content(?:\?|$)/i

/** Text, paragraphs and links stay in their place by themselves. Of all else a page makes something wider or taller. */
const MAY_STICK_OUT =
  /<(?!\/?(?:a|abbr|b|br|cite|code|del|div|em|i|ins|kbd|mark|p|q|s|small|span|strong|sub|sup|u)[ >])|<[a-z]+ [^>]*\b(?:style|align)=|(?:^|>)[^<>]*?[^\s<>]{40}/
const BOX = '<div style="overflow: auto; overflow-wrap: break-word">'

/** The address of an attachment that the message may show. */
export type UrlOf = (attachment_id: string) => string | undefined

/**
 * The HTML of a page. It loads no image but attachments, and is in a box of its own where styles, sizes or long words
 * could cover what is around it.
 */
export function viewHtml(html: string, urlOf: UrlOf): string {
  const shown = placeImages(html, urlOf, 'data-src')
  return MAY_STICK_OUT.test(shown) ? `${BOX}${shown}</div>` : shown
}

/**
 * Gives images that are attachments their addresses. Those that the text itself holds (`data:`) stay as they are.
 * @param attribute where the address of any other image is: `src` loads it, `data-src` does not
 */
export function placeImages(html: string, urlOf: UrlOf, attribute: 'src' | 'data-src'): string {
  return html.replace(IMAGE, (image, src: string) => {
    if (/^data:/i.test(src)) return image
    const attachment_id = ATTACHMENT.exec(src)?.[1]
    const url = attachment_id && urlOf(attachment_id)
    return url ? `<img src="${url.replaceAll('&', '&amp;')}"` : `<img ${attribute}="${src}"`
  })
}
