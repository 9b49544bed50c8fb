/** Draws latency over tickets as an SVG that can be read on light and on dark pages. */
import { writeFileSync } from 'node:fs'

export type Figure = {
  /** Numbers of tickets, from left to right. */
  sizes: number[]
  /** Milliseconds at each size. A bare line is the limit that the others are compared with. */
  lines: { label: string; values: number[]; is_bare: boolean }[]
}

const WIDTH = 760
const HEIGHT = 400
const LEFT = 60
/** Leaves room for the labels of the lines. */
const RIGHT = WIDTH - 210
const TOP = 40
const BOTTOM = HEIGHT - 50
/** Between labels, so that they do not cover each other. */
const LABEL_STEP = 17
/** Told apart by people who do not see all colours, on white and on black (Okabe and Ito, 2008). */
const COLORS = ['#0072B2', '#D55E00', '#009E73', '#CC79A7', '#56B4E9', '#E69F00']

const STYLE = `
  text { font: 12px system-ui, sans-serif; fill: #1f2328 }
  .title { font-size: 14px; font-weight: 600 }
  .grid { stroke: #8884; stroke-width: 1 }
  .bare { stroke: #777; stroke-dasharray: 6 4 }
  @media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .bare { stroke: #aaa } }`

export function writeFigure(file: string, figure: Figure): void {
  writeFileSync(file, `${draw(figure)}\n`)
}

function draw({ sizes, lines }: Figure): string {
  const values = lines.flatMap((line) => line.values)
  const x = scale(Math.min(...sizes), Math.max(...sizes), LEFT + 20, RIGHT)
  const [low, high] = [
    10 ** Math.floor(Math.log10(Math.min(...values))),
    10 ** Math.ceil(Math.log10(Math.max(...values))),
  ]
  const y = scale(low, high, BOTTOM, TOP)
  const ticks = Array.from({ length: Math.round(Math.log10(high / low)) + 1 }, (_, power) => low * 10 ** power)
  const labels = spread(lines.map((line) => y(line.values.at(-1)!)))
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="Latency over tickets">`,
    `<style>${STYLE}</style>`,
    `<text class="title" x="${LEFT}" y="20">Time of one client for an answer, median, in milliseconds</text>`,
    ...ticks.flatMap((tick) => [
      `<line class="grid" x1="${LEFT}" x2="${RIGHT}" y1="${place(y(tick))}" y2="${place(y(tick))}"/>`,
      `<text x="${LEFT - 8}" y="${place(y(tick) + 4)}" text-anchor="end">${Number(tick.toPrecision(1))}</text>`,
    ]),
    ...sizes.map((size) => {
      const text = size.toLocaleString('en-US')
      return `<text x="${place(x(size))}" y="${BOTTOM + 20}" text-anchor="middle">${text}</text>`
    }),
    `<text x="${(LEFT + RIGHT) / 2}" y="${BOTTOM + 40}" text-anchor="middle">tickets of the organization</text>`,
    ...lines.flatMap(({ label, values, is_bare }, index) => {
      const color = COLORS[index % COLORS.length]
      const stroke = is_bare ? 'class="bare"' : `stroke="${color}"`
      const points = values.map((value, at) => `${place(x(sizes[at]!))},${place(y(value))}`).join(' ')
      return [
        `<polyline ${stroke} fill="none" stroke-width="2.5" points="${points}"/>`,
        `<path ${stroke} stroke-width="2.5" d="M${RIGHT + 10},${place(labels[index]!)}h16"/>`,
        `<text x="${RIGHT + 32}" y="${place(labels[index]! + 4)}">${label}</text>`,
      ]
    }),
    '</svg>',
  ].join('\n')
}

/** Maps a range to another one by its logarithm. */
function scale(from: number, to: number, start: number, end: number): (value: number) => number {
  if (from === to) return () => (start + end) / 2
  return (value) => start + ((end - start) * Math.log(value / from)) / Math.log(to / from)
}

/** Moves heights down where they are too close to the one above. */
function spread(heights: number[]): number[] {
  const order = heights.map((height, index) => ({ height, index })).sort((a, b) => a.height - b.height)
  const result: number[] = []
  let last = -LABEL_STEP
  for (const { height, index } of order) {
    last = Math.max(height, last + LABEL_STEP)
    result[index] = last
  }
  return result
}

function place(value: number): string {
  return value.toFixed(1)
}
