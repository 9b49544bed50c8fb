/** A field that searches for a thing of the API while one types; what is chosen is sent as its id. */
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { attempt } from '../ui/toasts'
import { t } from '../words/catalogue'
import type { Find, Option } from './spec'

const PAUSE_MS = 150

type Props = {
  id: string
  /** The name of the hidden field that has the id. */
  name?: string
  required?: boolean
  find: Find
  shown?: Option
  onChoose?: (one: Option) => void
}

/** The browser's own list of proposals: it works by keyboard and with screen readers as it is. */
export function Pick({ id, name, find, shown, required, onChoose, ...given }: Props) {
  const list = useId()
  const [options, setOptions] = useState<Option[]>(shown ? [shown] : [])
  const [chosen, setChosen] = useState(shown)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const turn = useRef(0)
  const search = (words: string) => {
    clearTimeout(timer.current)
    timer.current = setTimeout(() => {
      const mine = ++turn.current
      void attempt(async () => {
        const found = distinct(await find(words))
        if (mine === turn.current) setOptions(found)
      })
    }, PAUSE_MS)
  }
  useEffect(() => () => clearTimeout(timer.current), [])
  const take = (input: HTMLInputElement) => {
    const one = options.find(({ text }) => text === input.value)
    setChosen(one)
    input.setCustomValidity(one || input.value === '' ? '' : t('form.choose'))
    if (one) onChoose?.(one)
    else search(input.value)
  }
  return (
    <>
      <input
        {...given}
        id={id}
        type="text"
        dir="auto"
        list={list}
        required={required}
        autoComplete="off"
        defaultValue={shown?.text}
        onFocus={(event) => search(event.currentTarget.value === chosen?.text ? '' : event.currentTarget.value)}
        onInput={(event) => take(event.currentTarget)}
      />
      <datalist id={list}>
        {options.map(({ value, text }) => (
          <option key={value} value={text} />
        ))}
      </datalist>
      {name && <input type="hidden" name={name} value={chosen?.value ?? ''} />}
    </>
  )
}

/** Options of one text are told apart by the end of their ids. */
function distinct(options: Option[]): Option[] {
  const seen = new Set<string>()
  return options.map((one) => {
    const text = seen.has(one.text) ? `${one.text} (${one.value.slice(-6)})` : one.text
    seen.add(one.text)
    return { ...one, text }
  })
}
