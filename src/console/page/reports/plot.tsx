/** A plot over time, with its figures as a table for those who do not see it. */
import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { dayOrHour } from '../ui/measures'
import { t } from '../words/catalogue'

/** The palette of labels, which is told apart in light and dark. */
const COLORS = {
  red: '#EF4444',
  orange: '#F97316',
  green: '#22C55E',
  blue: '#3B82F6',
  purple: '#8B5CF6',
  gray: '#6B7280',
}

export type Series = [name: string, color: keyof typeof COLORS, values: (number | null)[]]

/** The points in time, in seconds since 1970, and how far they are apart. */
type Over = { times: number[]; step_seconds: number }

const HEIGHT = 180
/** Pixels between two ticks of time: a day with its month is 50 wide in most languages. */
const DAY_PX = 70

export function Plot({
  title,
  unit,
  over,
  series,
}: {
  title: string
  unit?: string | undefined
  over: Over
  series: Series[]
}) {
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(null)
  const data = [over.times, ...series.map(([, , values]) => values)] as uPlot.AlignedData
  const is_blank = series.every(([, , values]) => values.every((value) => !value))
  const shape = `${is_blank} ${over.step_seconds} ${series.map(([name]) => name).join()}`

  useEffect(() => {
    if (is_blank) return
    const drawn = new uPlot(optionsOf(place.current!, series, over, unit), data, place.current!)
    plot.current = drawn
    const observer = new ResizeObserver(([entry]) =>
      drawn.setSize({ width: Math.floor(entry!.contentRect.width), height: HEIGHT }),
    )
    observer.observe(place.current!)
    return () => {
      plot.current = null
      observer.disconnect()
      drawn.destroy()
    }
  }, [shape])
  useEffect(() => plot.current?.setData(data), [over])

  return (
    <figure class="plot">
      <figcaption>
        {title}
        {unit && <small> {unit}</small>}
      </figcaption>
      {is_blank ? <p class="hint">{t('reports.blank')}</p> : <div ref={place} aria-hidden="true" />}
      <p class="unseen">{series.map(([name, , values]) => `${name}: ${spokenValues(values, unit)}`).join('; ')}</p>
    </figure>
  )
}

function spokenValues(values: (number | null)[], unit?: string): string {
  const known = values.filter((value) => value !== null)
  const sum = known.reduce((one, other) => one + other, 0)
  if (!unit) return t('list.total', { count: sum })
  return known.length > 0 ? t('reports.on_average', { value: Math.round(sum / known.length), unit }) : t('reports.none')
}

function optionsOf(element: HTMLElement, series: Series[], { step_seconds }: Over, unit?: string): uPlot.Options {
  const style = getComputedStyle(element)
  const ink = style.getPropertyValue('--faint').trim()
  const line = style.getPropertyValue('--line').trim()
  const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } }
  return {
    width: Math.max(200, Math.floor(element.clientWidth)),
    height: HEIGHT,
    cursor: { drag: { x: false, y: false } },
    scales: { y: { range: (_plot, _min, max) => [0, Math.max(max, 1) * 1.1] } },
    axes: [
      { ...axis, space: DAY_PX, values: (_plot, ticks) => ticks.map((tick) => dayOrHour(tick, step_seconds)) },
      {
        ...axis,
        size: 48,
        values: (_plot, ticks) => ticks.map((tick) => (Number.isInteger(tick) ? String(tick) : '')),
      },
    ],
    series: [
      { label: t('reports.time'), value: (_plot, at) => (at === null ? '' : dayOrHour(at, step_seconds)) },
      ...series.map(([label, color]) => ({
        label: unit ? `${label} (${unit})` : label,
        stroke: COLORS[color],
        width: 2,
        spanGaps: false,
        points: { size: 4 },
      })),
    ],
  }
}
