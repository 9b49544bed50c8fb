/** Tables of the views for admins: a page of a list, with more on demand. */
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { useRows } from './lists'
import { Action, Button } from './ui/buttons'
import { Waiting } from './ui/placeholders'
import { t } from './words/catalogue'

type Props<T extends { id: string | null }> = {
  list: ReturnType<typeof useRows<T>>
  caption: string
  head: string[]
  row: (one: T) => ComponentChildren
  empty: string
  /** The buttons above the table that begin another row. */
  adding?: { text: string; begin: () => void }[]
}

export function Table<T extends { id: string | null }>({ adding = [], ...table }: Props<T>) {
  return (
    <>
      {adding.length > 0 && (
        <p class="adding buttons">
          {adding.map(({ text, begin }, place) => (
            <Button key={text} kind={place === 0 ? 'main' : 'quiet'} text={text} onClick={begin} />
          ))}
        </p>
      )}
      <Rows {...table} />
    </>
  )
}

type ScrollProps = { caption: string; class?: string; children: ComponentChildren }

/**
 * A table with its caption. Where it is wider than the page it is scrolled, by keys too; on a phone each row is a card,
 * whose cells say the names of their columns.
 */
export function ScrollTable({ caption, class: kind, children }: ScrollProps) {
  const table = useRef<HTMLTableElement>(null)
  useLayoutEffect(() => {
    const heads = [...table.current!.querySelectorAll('thead th')].map(({ textContent }) => textContent)
    for (const { cells } of table.current!.rows) {
      for (const [place, cell] of [...cells].entries())
        if (cell.tagName === 'TD') cell.dataset.column = heads[place] ?? ''
    }
  })
  return (
    // biome-ignore lint/a11y: what scrolls has to take the focus, and a fieldset is for fields
    <div class="scroll" role="group" aria-label={caption} tabIndex={0}>
      <table class={kind} ref={table}>
        <caption class="unseen">{caption}</caption>
        {children}
      </table>
    </div>
  )
}

function Rows<T extends { id: string | null }>({ list, caption, head, row, empty }: Props<T>) {
  if (!list.rows || list.error) return <Waiting error={list.error} />
  if (list.rows.length === 0) return <p class="empty">{empty}</p>
  return (
    <>
      <ScrollTable caption={caption}>
        <thead>
          <tr>
            {head.map((text) => (
              <th key={text} scope="col">
                {text}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {list.rows.map((one) => (
            <tr key={one.id}>{row(one)}</tr>
          ))}
        </tbody>
      </ScrollTable>
      {list.has_more && <Action run={list.loadMore}>{t('ui.show_more')}</Action>}
    </>
  )
}
