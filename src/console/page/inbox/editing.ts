/** Types that the field of a message and its editor hand to each other. */
import type { Format } from './formatting'
import type { Words } from './text-format'

/** Where the cursor stands, or what is selected: from one place to another. */
export type Cursor = [from: number, to: number]

/** The deeds on the field from outside. */
export type TextHandle = {
  /** @param cursor where it is put; else it stays */
  focus(cursor?: Cursor): void
  cursor(): Cursor | undefined
}

/** The deeds of the editor while it is shown. */
export type Editing = TextHandle & {
  run(format: Format): void
  insertImage(address: string): void
  insertText(text: string): void
  /** All of it without formats. */
  plain(): string
}

export type TextProps = {
  label: string
  placeholder: string
  value: string
  format: Words['format']
  is_off: boolean
  write: (text: string, format: Words['format']) => void
  send: (status?: 'resolved') => void
  /** Uploads an image of the text. @returns its address */
  uploadImage: (file: File) => Promise<string | undefined>
  attach: (files: Iterable<File>) => unknown
}
