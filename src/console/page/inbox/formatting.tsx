/** The buttons that format what is written. */
import { Bold, Code, type IconNode, Italic, Link, List, ListOrdered, TextQuote } from 'lucide'
import type { ComponentChildren } from 'preact'
import { Button } from '../ui/buttons'
import { t } from '../words/catalogue'

export type Format = 'bold' | 'italic' | 'link' | 'bullets' | 'numbers' | 'quote' | 'code'

const FORMATS: [Format, IconNode][] = [
  ['bold', Bold],
  ['italic', Italic],
  ['link', Link],
  ['bullets', List],
  ['numbers', ListOrdered],
  ['quote', TextQuote],
  ['code', Code],
]

type Props = {
  run: (format: Format) => void
  /** Goes back to plain text; absent when it is plain. */
  bePlain: (() => void) | undefined
  is_off: boolean
  /** Other buttons of the same bar. */
  children: ComponentChildren
}

export function Formatting({ run, bePlain, is_off, children }: Props) {
  return (
    <div class="formatting" role="toolbar" aria-label={t('format.formats')}>
      {FORMATS.map(([format, icon]) => (
        <Button
          key={format}
          kind="bare"
          icon={icon}
          label={t(`format.${format}`)}
          disabled={is_off}
          onClick={() => run(format)}
        />
      ))}
      {children}
      <span class="grow" />
      {bePlain && <Button kind="bare" text={t('format.plain')} disabled={is_off} onClick={bePlain} />}
    </div>
  )
}
