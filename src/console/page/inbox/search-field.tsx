/** The search of the list, with its filters as words. */
import { Search as SearchIcon } from 'lucide'
import { useRef, useState } from 'preact/hooks'
import { useActs } from '../acts'
import { Icon } from '../ui/icons'
import { t } from '../words/catalogue'
import { FILTER_NAMES } from './search-words'

type Props = { value: string; onSearch: (words: string) => void; unknown: string[] }

/** @param unknown filters of the search that name nothing */
export function SearchField({ value, onSearch, unknown }: Props) {
  const [words, setWords] = useState(value)
  const [is_focused, setFocused] = useState(false)
  const input = useRef<HTMLInputElement>(null)
  useSearchKey(() => input.current?.focus())
  const add = (name: string) => {
    setWords(`${words.trimEnd()}${words.trim() ? ' ' : ''}${name}:`)
    input.current?.focus()
  }
  return (
    <search
      onFocusIn={() => setFocused(true)}
      onFocusOut={(event) => {
        if (!(event.currentTarget as HTMLElement).contains(event.relatedTarget as Node | null)) setFocused(false)
      }}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault()
          onSearch(words.trim())
        }}
      >
        <label class="search">
          <span class="unseen">{t('inbox.search')}</span>
          <Icon of={SearchIcon} />
          <input
            ref={input}
            type="search"
            dir="auto"
            placeholder={t('inbox.search_hint')}
            value={words}
            onKeyDown={(event) => event.key === 'Escape' && input.current?.blur()}
            onInput={(event) => {
              const { value } = event.target as HTMLInputElement
              setWords(value)
              // The cross of the field empties it without sending the form.
              if (value === '') onSearch('')
            }}
          />
        </label>
        {is_focused && (
          <p class="filter-words">
            {FILTER_NAMES.map((name) => (
              <button key={name} type="button" onClick={() => add(name)}>
                {name}:
              </button>
            ))}
          </p>
        )}
      </form>
      {unknown.length > 0 && (
        <p class="hint" role="status">
          {t('inbox.unknown', { words: unknown.join(', ') })}
        </p>
      )}
    </search>
  )
}

function useSearchKey(run: () => void): void {
  useActs([{ text: t('inbox.search'), icon: SearchIcon, keys: '/', run }], t('frame.group_list'))
}
