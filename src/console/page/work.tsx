/** Work that takes long: how far it is stands above every view, and it goes on while the person does something else. */
import { Cell, useCell } from './cell'
import { Button } from './ui/buttons'
import { number, span } from './ui/measures'
import { attempt } from './ui/toasts'
import { t } from './words/catalogue'

/** Work that takes longer is shown. */
const SHOWN_AFTER_MS = 1000
/** Less is not worth a word about the rest. */
const LEAST_LEFT_S = 5

/** How far work is: all of it while `total` is not known. */
type Far = { done?: number; total?: number }
type Work = Far & { text: string; begun_ms: number; stop?: () => void }

const going = new Cell<Work[]>([])

/**
 * Waits for work that is done within a second. Longer work is shown until it ends, and its faults are told.
 * @param run says again and again how far it is
 * @throws what the work throws within a second
 */
export async function doLong(
  text: string,
  run: (tell: (far: Far) => void) => Promise<unknown>,
  stop?: () => void,
): Promise<void> {
  let work: Work = { text, begun_ms: performance.now(), ...(stop && { stop }) }
  const isThis = (one: Work) => one === work
  const tell = (far: Far) => {
    const next = { ...work, ...far }
    going.value = going.value.map((one) => (isThis(one) ? next : one))
    work = next
  }
  const done = run(tell)
  const late = Symbol()
  const timer = new Promise((resolve) => setTimeout(resolve, SHOWN_AFTER_MS, late))
  if ((await Promise.race([done, timer])) !== late) return
  going.value = [...going.value, work]
  void attempt(() => done).finally(() => {
    going.value = going.value.filter((one) => !isThis(one))
  })
}

/** The works that go on now. */
export function Works() {
  const works = useCell(going)
  if (works.length === 0) return null
  return (
    <section aria-label={t('work.works')}>
      {works.map((work) => (
        <OneWork key={work.begun_ms} {...work} />
      ))}
    </section>
  )
}

function OneWork({ text, begun_ms, done = 0, total, stop }: Work) {
  return (
    <p class="work">
      <span role="status" dir="auto">
        {text}
      </span>
      <progress {...(total && { value: Math.min(done, total), max: total })} aria-label={text} />
      {total !== undefined && total > 0 && (
        <span class="count">
          {t('work.far', { done: number(Math.min(done, total)), total: number(total) })}
          {leftOf(begun_ms, done, total)}
        </span>
      )}
      <span class="grow" />
      {stop && <Button text={t('work.stop')} onClick={stop} />}
    </p>
  )
}

/** How long the rest takes, when it goes on as before. */
function leftOf(begun_ms: number, done: number, total: number): string {
  const seconds = done > 0 ? ((performance.now() - begun_ms) / 1000 / done) * (total - done) : 0
  return seconds < LEAST_LEFT_S ? '' : ` · ${t('work.left', { time: span(seconds) })}`
}
