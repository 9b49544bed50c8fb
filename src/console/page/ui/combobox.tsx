/** A list that is searched by typing, with the pattern of a combobox: the focus stays in the field. */
import { Check, type IconNode } from 'lucide'
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { t } from '../words/catalogue'
import { Icon } from './icons'

export type Option = {
  value: string
  text: string
  icon?: IconNode
  /** Stands before the text in the place of an icon. */
  mark?: ComponentChildren
  /** Words that it is found by, beside its text. */
  words?: string
  /** At the end of the line: a key, or what else is good to know. */
  hint?: string
  is_chosen?: boolean
  /** Stays at the end whatever is typed: what makes a new one of that name. */
  stays?: boolean
  /** Options with the same group stand below its name. */
  group?: string
}

type OptionsProps = {
  label: string
  /** Undefined while they are read: the choice by Enter is made then. */
  options: Option[] | undefined
  /** @param words what was typed */
  onChoose: (value: string, words: string) => void
  placeholder?: string
  /** Hears what is typed, for options that depend on it. */
  onType?: (words: string) => void
}

const MOST_SHOWN = 60

export function Options({ label, options, onChoose, placeholder, onType }: OptionsProps) {
  const id = useId()
  const list = useRef<HTMLDivElement>(null)
  const [words, setWords] = useState('')
  const [place, setPlace] = useState(0)
  const [chooses, setChooses] = useState(false)
  const fitting = fittingOf(options ?? [], words).slice(0, MOST_SHOWN)
  const now = Math.min(place, fitting.length - 1)
  useEffect(() => {
    if (chooses && options && fitting[now]) onChoose(fitting[now].value, words.trim())
  }, [chooses, !options])
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' })
  }, [now])
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step) setPlace((now + step + fitting.length) % Math.max(1, fitting.length))
    else if (event.key === 'Enter' && !options) setChooses(true)
    else if (event.key === 'Enter' && fitting[now]) onChoose(fitting[now].value, words.trim())
    else return
    event.preventDefault()
  }
  return (
    <div class="options">
      <input
        role="combobox"
        aria-label={label}
        aria-expanded="true"
        aria-controls={id}
        aria-autocomplete="list"
        aria-activedescendant={fitting[now] ? `${id}-${now}` : undefined}
        autoComplete="off"
        placeholder={placeholder ?? label}
        value={words}
        dir="auto"
        onInput={(event) => {
          const { value } = event.target as HTMLInputElement
          setWords(value)
          setPlace(0)
          onType?.(value)
        }}
        onKeyDown={onKeyDown}
      />
      <div ref={list} id={id} role="listbox" aria-label={label}>
        {fitting.map((option, at) => (
          <OneOption
            key={option.value}
            id={`${id}-${at}`}
            option={option.stays ? { ...option, hint: words.trim() } : option}
            is_selected={at === now}
            heads={option.group !== fitting[at - 1]?.group}
            onChoose={(value) => onChoose(value, words.trim())}
          />
        ))}
      </div>
      {!options && <p class="empty">{t('ui.loading')}</p>}
      {options && fitting.length === 0 && <p class="empty">{t('ui.none_fits')}</p>}
    </div>
  )
}

type OneProps = {
  id: string
  option: Option
  is_selected: boolean
  /** The name of the group stands above it. */
  heads: boolean
  onChoose: (value: string) => void
}

function OneOption({ id, option, is_selected, heads, onChoose }: OneProps) {
  const { value, text, icon, mark, hint, is_chosen, group } = option
  return (
    <>
      {heads && group && (
        <div class="group-name" role="presentation">
          {group}
        </div>
      )}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the field hears the keys */}
      {/* biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the field */}
      <div
        id={id}
        class={is_chosen ? 'item is-chosen' : 'item'}
        role="option"
        aria-selected={is_selected}
        onMouseDown={(event) => event.preventDefault()}
        onClick={() => onChoose(value)}
      >
        {icon && <Icon of={icon} />}
        {mark}
        <span class="cut" dir="auto">
          {text}
        </span>
        {hint && <small>{hint}</small>}
        {is_chosen && <Icon of={Check} />}
      </div>
    </>
  )
}

/** The options that have all the words, by groups: those first in which a word begins with what was typed. */
function fittingOf(options: Option[], typed: string): Option[] {
  const all = simple(typed).split(/\s+/)
  const ranked = options.flatMap((option) => {
    if (option.stays) return [{ option, rank: 2 }]
    const text = ` ${simple(`${option.text} ${option.words ?? ''}`)}`
    if (!all.every((word) => text.includes(word))) return []
    return [{ option, rank: all.every((word) => text.includes(` ${word}`)) ? 0 : 1 }]
  })
  const sorted = ranked.sort((one, other) => one.rank - other.rank).map(({ option }) => option)
  return [...Map.groupBy(sorted, ({ group }) => group).values()].flat()
}

/** Without case and accents. */
function simple(text: string): string {
  return text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()
}
