/** The functions that the measurement of the console runs in the browser: each stands alone there. */

/** Notes the time from each key to the frame that shows it: the browser tells of those that take a frame or more. */
export function watchLetters(): void {
  let letters_ms = [16]
  const take = (entries: PerformanceEntryList) =>
    letters_ms.push(...entries.filter(({ name }) => name.startsWith('key')).map(({ duration }) => duration))
  const events = new PerformanceObserver((list) => take(list.getEntries()))
  events.observe({ type: 'event', durationThreshold: 16 } as PerformanceObserverInit)
  Object.assign(globalThis, {
    /** @returns the longest one since this was asked for */
    takeLongest() {
      take(events.takeRecords())
      const longest = Math.max(...letters_ms)
      letters_ms = [16]
      return longest
    },
  })
}

/**
 * Clicks a link, and waits for the frame that shows what it leads to: the rows of another list, or the head of a ticket
 * and each of its messages that is in sight. A trace has the marks `clicked` and `seen`.
 * @param what `list` or `ticket`
 * @returns milliseconds
 */
export async function clickAndSee(link: Element, what: string): Promise<number> {
  const drawn = () =>
    new Promise<void>((resolve) =>
      requestAnimationFrame(() => {
        const { port1, port2 } = new MessageChannel()
        port1.onmessage = () => resolve()
        port2.postMessage(undefined)
      }),
    )
  const isDrawn = (frame: HTMLIFrameElement) => frame.height !== '0' && frame.contentDocument?.body.hasChildNodes()
  const isInSight = (element: Element) => {
    const { top, bottom } = element.getBoundingClientRect()
    return bottom > 0 && top < innerHeight
  }
  const isListSeen = () => {
    const list = document.querySelector('.list')
    const is_read = list?.querySelector('.row, .nothing') && !list.querySelector('.skeleton')
    return link.getAttribute('aria-current') === 'page' && is_read
  }
  const isTicketSeen = () => {
    const messages = [...document.querySelectorAll('.messages .message')].filter(isInSight)
    const is_here = document.querySelector('.head h1')?.textContent === link.querySelector('.subject')?.textContent
    return is_here && messages.length > 0 && messages.every((one) => [...one.querySelectorAll('iframe')].every(isDrawn))
  }
  const isSeen = what === 'list' ? isListSeen : isTicketSeen
  const begun_ms = performance.now()
  performance.mark('clicked')
  ;(link as HTMLElement).click()
  do {
    await drawn()
    if (performance.now() - begun_ms > 20_000) throw new Error(`the ${what} of ${link.textContent} is not seen`)
  } while (!isSeen())
  const passed_ms = performance.now() - begun_ms
  performance.mark('seen')
  await new Promise((resolve) => setTimeout(resolve, 200))
  return passed_ms
}

/** Shows all messages of the ticket, and scrolls from the last to the first. @returns how many there are */
export async function scrollThrough(): Promise<number> {
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve))
  const box = document.querySelector('.messages-scroll')!
  for (;;) {
    for (let before: number | undefined; before !== box.scrollTop; ) {
      before = box.scrollTop
      box.scrollTop -= 400
      await frame()
    }
    const earlier = document.querySelector<HTMLElement>('.messages > li > button.quiet')
    if (!earlier) return document.querySelectorAll('.messages .message').length
    earlier.click()
    await frame()
  }
}
