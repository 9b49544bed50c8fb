/** Types that the field of a message and its editor hand to each other. */
import type { Format } from './formatting'
import type { NextStatus } from './sending'

/** The deeds on the field from outside. */
export type TextHandle = { focus(): void }

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
  is_off: boolean
  write: (text: string) => void
  send: (status?: NextStatus) => void
  /** Uploads an image of the text. @returns its address */
  uploadImage: (file: File) => Promise<string | undefined>
  attach: (files: Iterable<File>) => unknown
}
