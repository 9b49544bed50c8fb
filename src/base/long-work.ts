/** Tells how far long work is: on a terminal in one line, which other lines pass by, else in the log. */
import yoctoSpinner from 'yocto-spinner'
import { IS_COMMAND, isLiveTerminal } from './config'
import { log } from './log'

/** A line of the terminal is written anew so often, and not at all for what is done sooner. */
const SHOWN_MS = 200
const LOGGED_MS = 10_000
/** The speed is that of the time just past. */
const LATELY_MS = 30_000
/** The turning mark, and the space behind it. */
const MARK_CHARACTERS = 3

type Figures = { done: number; total?: number; per_second?: number; left_s?: number }

type Work = {
  /** How much there is to do; undefined when nobody knows. */
  total?: number
  /** `bytes`, or what is counted. */
  unit?: string
  /** Tells of work of a program that is neither the service nor a command of it, where no terminal is. */
  say?(text: string): void
}

/** Work that goes on. The newest that has not ended is shown. */
const under_way: Progress[] = []
let looking: Timer | undefined
let logged_ms = Number.NEGATIVE_INFINITY
let line: ReturnType<typeof yoctoSpinner> | undefined

/**
 * Begins to tell of work, until it is disposed of.
 * @param what is done, such as `import`
 */
export function startProgress(what: string, work: Work = {}): Progress {
  const progress = new Progress(what, work)
  under_way.push(progress)
  if (!looking) {
    if (performance.now() - logged_ms > 2 * LOGGED_MS) logged_ms = performance.now()
    looking = setInterval(look, SHOWN_MS)
    looking.unref()
  }
  return progress
}

export class Progress implements Disposable {
  /** The part of the work that is done now, such as the name of a file. */
  part = ''
  done = 0
  readonly #what: string
  readonly #work: Work
  readonly #began_ms = performance.now()
  #lately: { at_ms: number; done: number }[] = [{ at_ms: this.#began_ms, done: 0 }]

  constructor(what: string, work: Work) {
    this.#what = what
    this.#work = work
  }

  add(count = 1): void {
    this.done += count
  }

  /** Counts the bytes of what is read. */
  async *through<Piece extends Uint8Array>(pieces: AsyncIterable<Piece>): AsyncGenerator<Piece> {
    for await (const piece of pieces) {
      this.add(piece.length)
      yield piece
    }
  }

  [Symbol.dispose](): void {
    under_way.splice(under_way.indexOf(this), 1)
    if (under_way.length > 0) return
    clearInterval(looking)
    looking = undefined
    hideLine()
  }

  look(): void {
    const at_ms = performance.now()
    this.#lately.push({ at_ms, done: this.done })
    while (this.#lately.length > 2 && this.#lately[0]!.at_ms < at_ms - LATELY_MS) this.#lately.shift()
    const figures = this.#figures()
    const text = farInWords([this.#what, this.part].filter(Boolean).join(', '), {
      ...figures,
      unit: this.#work.unit ?? 'rows',
      passed_s: (at_ms - this.#began_ms) / 1000,
    })
    const { say } = this.#work
    if ((IS_COMMAND || say) && isLiveTerminal(process.stderr)) showLine(text)
    else if (at_ms - logged_ms >= LOGGED_MS) {
      logged_ms = at_ms
      if (say) say(text)
      else log.info({ work: this.#what, ...figures }, text)
    }
  }

  #figures(): Figures {
    const [first, last] = [this.#lately[0]!, this.#lately.at(-1)!]
    const { total = 0 } = this.#work
    const figures: Figures = { done: last.done }
    const per_ms = (last.done - first.done) / (last.at_ms - first.at_ms)
    // An estimate may be exceeded: then it says nothing.
    if (total >= last.done && total > 0) figures.total = total
    if (!(per_ms > 0)) return figures
    figures.per_second = Math.round(per_ms * 10_000) / 10
    if (figures.total) figures.left_s = Math.round((total - last.done) / per_ms / 1000)
    return figures
  }
}

function look(): void {
  under_way.at(-1)?.look()
}

function showLine(text: string): void {
  const cut = text.slice(0, Math.max(20, (process.stderr.columns || 80) - MARK_CHARACTERS))
  if (line) line.text = cut
  else {
    line = yoctoSpinner({ stream: process.stderr, text: cut }).start()
    process.once('exit', hideLine)
  }
}

function hideLine(): void {
  process.off('exit', hideLine)
  line?.stop()
  line = undefined
}

/** Puts figures into words: `import, tickets: 12,000 of 50,000 rows (24 %), 850 a second, 45 s left`. */
export function farInWords(
  what: string,
  { done, total, per_second, left_s, unit, passed_s }: Figures & { unit: string; passed_s: number },
): string {
  const amount = (count: number) => (unit === 'bytes' ? bytesInWords(count) : count.toLocaleString('en'))
  const counted = unit === 'bytes' ? '' : ` ${unit}`
  const parts = [
    ...(done > 0 || total ? [amount(done) + (total ? ` of ${amount(total)}` : '') + counted] : []),
    ...(per_second ? [`${amount(per_second < 10 ? per_second : Math.round(per_second))} a second`] : []),
    left_s === undefined ? timeInWords(passed_s) : `${timeInWords(left_s)} left`,
  ]
  if (total) parts[0] += ` (${Math.floor((100 * done) / total)} %)`
  return `${what}: ${parts.join(', ')}`
}

function bytesInWords(bytes: number): string {
  const [unit, size] = bytes < 1e6 ? ['kB', 1e3] : bytes < 1e9 ? ['MB', 1e6] : ['GB', 1e9]
  return `${(bytes / size).toFixed(bytes < 1e6 ? 0 : 1)} ${unit}`
}

function timeInWords(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`
  const minutes = Math.round(seconds / 60)
  return minutes < 120 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}
