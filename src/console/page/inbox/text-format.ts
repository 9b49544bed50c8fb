/** Tells text from HTML as the service does, and turns one into the other. */

/** Elements that make a body HTML. The service knows some more, which nobody types. */
const ELEMENT =
  /<(?:a|b|big|blockquote|br|center|code|del|div|em|font|h[1-6]|hr|i|img|ins|kbd|li|mark|ol|p|pre|s|small|span|strike|strong|sub|sup|table|td|tr|u|ul)(?:\s[^<>]*)?\/?>/i

/** Tells if a body is HTML. */
export function isHtml(body: string): boolean {
  return ELEMENT.test(body)
}

/** A text as HTML: a paragraph for each, with its line breaks. */
export function toHtml(text: string): string {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  return escaped
    .split(/\n{2,}/)
    .map((paragraph) => `<p>${paragraph.replaceAll('\n', '<br>')}</p>`)
    .join('')
}

/** Puts a text below what was written, as HTML when one of them is. */
export function joined(before: string, text: string): string {
  if (!before.trim()) return text
  if (!isHtml(before) && !isHtml(text)) return `${before.trimEnd()}\n\n${text}`
  return [before, text].map((one) => (isHtml(one) ? one : toHtml(one.trim()))).join('')
}
