/** Turns text into HTML, and puts what is written together. */
import type { Message } from '../../../desk/messages/model'

/** A text and its form: typed in the plain field, or made in the editor. */
export type Words = { text: string; format: Message['format'] }

/** A text as HTML: a paragraph for each, with its line breaks. */
export function toHtml(text: string): string {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  return escaped
    .split(/\n{2,}/)
    .map((paragraph) => `<p>${paragraph.replaceAll('\n', '<br>')}</p>`)
    .join('')
}

/** Puts a text below what was written, as HTML when one of them is. */
export function joined(before: Words, added: Words): Words {
  if (!before.text.trim()) return added
  if (before.format === 'text' && added.format === 'text') {
    return { text: `${before.text.trimEnd()}\n\n${added.text}`, format: 'text' }
  }
  const parts = [before, added].map(({ text, format }) => (format === 'html' ? text : toHtml(text.trim())))
  return { text: parts.join(''), format: 'html' }
}
