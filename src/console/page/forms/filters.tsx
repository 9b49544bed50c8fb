/** The filters above a list. They stand in the address of the page, so that it can be kept and sent. */
import { useEffect, useRef } from 'preact/hooks'
import { changed, go, hrefOf } from '../route'
import type { View } from '../view-types'
import { Input } from './input'
import type { Spec } from './spec'

/** Between two letters of one word. */
const PAUSE_MS = 250

type Props = Pick<View, 'api' | 'route'> & { specs: Spec[]; label: string }

export function Filters({ api, route, specs, label }: Props) {
  const element = useRef<HTMLFormElement>(null)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  // A row may be opened in the pause after a letter. It stays open.
  const latest = useRef(route)
  latest.current = route
  const apply = () => {
    clearTimeout(timer.current)
    if (!element.current) return
    const form = new FormData(element.current)
    const values = Object.fromEntries(
      specs.map(({ name, kind }) => [name, kind === 'check' ? (form.get(name) ? 'true' : '') : String(form.get(name))]),
    )
    const { path, query } = latest.current
    go(hrefOf(api.organization_id, path, changed(query, values)), true)
  }
  const soon = () => {
    clearTimeout(timer.current)
    timer.current = setTimeout(apply, PAUSE_MS)
  }
  return (
    <search>
      <form
        ref={element}
        class="filter-bar"
        aria-label={label}
        onInput={soon}
        onSubmit={(event) => {
          event.preventDefault()
          apply()
        }}
      >
        {specs.map((spec) => (
          <Input key={spec.name} spec={spec} value={startOf(spec, route.query.get(spec.name))} fault={undefined} />
        ))}
      </form>
    </search>
  )
}

function startOf({ kind }: Spec, value: string | null): unknown {
  return kind === 'check' ? value === 'true' : value
}

/** The filters in the address, for a request; days become the times at which they begin and end here. */
export function filterOf(query: URLSearchParams, specs: Spec[]): Record<string, string> {
  return Object.fromEntries(
    specs.flatMap(({ name, kind }) => {
      const value = query.get(name)
      if (!value) return []
      if (kind !== 'date' || !/_(after|before)$/.test(name)) return [[name, value]]
      const day = new Date(`${value}T00:00:00`)
      // The end of the last day.
      if (name.endsWith('_before')) day.setDate(day.getDate() + 1)
      return Number.isNaN(day.getTime()) ? [] : [[name, day.toISOString()]]
    }),
  )
}
