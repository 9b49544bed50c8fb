/**
 * Shows images of an email that are the background of an element, where mail programs put what everybody sees. Pure.
 */

/** Longest tag that is read. Mail programs write no longer ones. */
const MAX_TAG = 5000

/** The address of a background in a tag: as an attribute, or in a style. */
const BACKGROUND =
  /\bbackground(?:-image)?\s{0,9}(?:=\s{0,9}(?:"([^"]{1,1000})"|'([^']{1,1000})'|([^\s"'>]{1,1000}))|:[^;"']{0,200}?url\(\s{0,9}(?:["']|&quot;|&#39;)?([^"')&]{1,1000}))/i

/**
 * Adds an image to each element whose background is an image of the message: as its first content, or before a table,
 * which can hold no image. Each image is added once. Other backgrounds stay away.
 * @param idOf gives the id of the image of the message that has an address other than `cid:`; null for all others
 */
export function showBackgrounds(html: string, idOf: (address: string) => string | null): string {
  if (!/\bbackground/i.test(html)) return html
  const shown = new Set<string>()
  return html.replace(new RegExp(`<[a-z][^<>]{0,${MAX_TAG}}>`, 'gi'), (tag) => {
    const address = BACKGROUND.exec(tag)
      ?.slice(1)
      .find((group) => group !== undefined)
      ?.trim()
    if (!address || shown.has(address) || !(/^cid:/i.test(address) || idOf(address) !== null)) return tag
    shown.add(address)
    const image = `<img src="${address.replaceAll('"', '&quot;')}">`
    return /^<(?:table|tbody|thead|tfoot|tr)\b/i.test(tag) ? image + tag : tag + image
  })
}
