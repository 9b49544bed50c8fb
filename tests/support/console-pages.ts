/** Goes through every page of the console by the links that the pages show, so that no new page is left out. */
import type { Page } from 'playwright-core'

/** Ids in an address. */
const ID = /[0-9a-f]{8}-[0-9a-f-]{27}/g

/**
 * Opens every kind of page once, with its links still there, and lets `look` look at it.
 * @param more other pages to look at, by their names
 * @returns their paths
 */
export async function visitAll(
  page: Page,
  look: (path: string) => Promise<void>,
  more: Record<string, string> = {},
): Promise<string[]> {
  const waiting = new Map(Object.entries({ tickets: 'tickets', ...more }))
  const seen = new Set<string>()
  for (const [kind, path] of waiting) {
    seen.add(kind)
    await visit(page, path)
    await look(kind)
    for (const found of await linksOf(page)) {
      const other = found.replace(ID, ':id')
      if (!waiting.has(other)) waiting.set(other, found)
    }
  }
  return [...seen].sort()
}

/** The paths that links lead to. A page shows them in its place, or in a dialog. */
async function linksOf(page: Page): Promise<string[]> {
  const hrefs = await page
    .locator('a[href^="#/"]')
    .evaluateAll((links) => links.map((link) => link.getAttribute('href')!))
  return hrefs.map((href) => decodeURIComponent(/^#\/[^/]+\/([^?]*)/.exec(href)?.[1] ?? '')).filter(Boolean)
}

/** Opens a page, and waits until all is read. */
export async function visit(page: Page, path: string): Promise<void> {
  await page.evaluate((path) => {
    for (const dialog of document.querySelectorAll('dialog')) dialog.dispatchEvent(new Event('cancel'))
    location.hash = location.hash.replace(/^(#\/[^/]+).*/, `$1/${path}`)
  }, path)
  await page.locator('#content').locator('h1, h2, [role=alert], .row').first().waitFor()
  await page.waitForFunction(() => !document.querySelector('.skeleton'))
}

/** A cell of a table may be so wide, and as wide as the place of the table. */
const MOST_OF_CELL_PX = 420

/**
 * Parts that are wider than their place: they would be cut, or scrolled to. Tables and settings scroll, but on a
 * phone each row of a table is a card.
 */
export function tooWide(page: Page): Promise<string[]> {
  return page.evaluate((most_px) => {
    const nameOf = (element: Element) => `${element.tagName}.${element.className} ${element.textContent!.slice(0, 20)}`
    const inside = (element: HTMLElement) => {
      const all = [...element.querySelectorAll('*')].filter((one) => one.scrollWidth > element.clientWidth + 1)
      return all.map(nameOf).at(-1) ?? ''
    }
    const wide = document.documentElement.scrollWidth > innerWidth ? ['the page'] : []
    const has_cards = innerWidth < 500
    for (const element of document.querySelectorAll<HTMLElement>('body *')) {
      const is_scrolled = /auto|scroll/.test(getComputedStyle(element).overflowX)
      const by = element.scrollWidth - element.clientWidth
      const may = element.matches(`textarea, select, .settings-nav${has_cards ? '' : ', .scroll'}`)
      if (is_scrolled && by > 1 && !may) wide.push(`${nameOf(element)} by ${by}px: ${inside(element)}`)
      const place = element.matches('td') && element.closest('.scroll')
      if (place && has_cards && !/block|none/.test(getComputedStyle(element).display)) {
        wide.push(`${nameOf(element)} is no line of a card`)
      }
      if (place && element.offsetWidth > Math.max(most_px, place.clientWidth)) {
        wide.push(`${nameOf(element)} has ${element.offsetWidth}px`)
      }
    }
    return wide
  }, MOST_OF_CELL_PX)
}

/** Buttons that open a dialog, by the beginnings of their names. */
const OPENING =
  /^(Add a |Delete |Edit|Erase |Inbound webhook|Invite |Log time|Make a |Merge|New |Revoke |Send events|Set up|What )/

/** Opens each kind of dialog that the page has, one after the other. @returns how many there were */
export async function openDialogs(page: Page, look: (name: string) => Promise<void>): Promise<number> {
  const names = await page
    .locator('#content button:visible')
    .evaluateAll((buttons) => buttons.map((one) => one.getAttribute('aria-label') ?? one.textContent!.trim()))
  const kinds = new Map(names.flatMap((name) => ((kind) => (kind ? [[kind[0], name]] : []))(OPENING.exec(name))))
  let dialogs = 0
  for (const name of kinds.values()) {
    await page.getByRole('button', { name, exact: true }).first().click()
    if ((await page.locator('dialog').count()) === 0) continue
    dialogs++
    await page.waitForFunction(() => !document.querySelector('.skeleton'))
    await look(name.slice(0, 20))
    await page.keyboard.press('Escape')
    await page.locator('dialog').waitFor({ state: 'detached' })
  }
  return dialogs
}

/** Places where a name turns around what stands after it: it must stand for itself. */
export function turnedAround(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const found = new Set<string>()
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    for (let text = texts.nextNode(); text; text = texts.nextNode()) {
      if (!text.textContent!.includes('\u202e') || text.parentElement!.closest('option, script')) continue
      let place = text.parentElement!
      const isApart = ({ display, unicodeBidi }: CSSStyleDeclaration) =>
        display !== 'inline' || unicodeBidi === 'isolate' || unicodeBidi === 'plaintext'
      while (!isApart(getComputedStyle(place))) place = place.parentElement!
      // A name ends at the end of its line.
      // biome-ignore lint/performance/useDomNodeTextContent: lines are those of the layout
      const rest = place.innerText
        .split('\u202e')
        .slice(1)
        .map((one) => one.split('\n')[0]!.trim())
      for (const one of rest.filter((one) => !/W$/.test(one))) {
        found.add(`${place.tagName}.${place.className} turns ${one.replace(/W+/g, 'W').slice(-60)}`)
      }
    }
    return [...found]
  })
}

/** Words of the page itself that are cut: what people wrote may be, labels may not. */
export function cutLabels(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>('.rail *, #content *, dialog *')]
      .filter((one) => [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent!.trim()))
      .filter((one) => one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflowX !== 'visible')
      .filter((one) => !one.closest('.unseen, .row, .message, .head, .side, td, textarea, pre'))
      .map((one) => `${one.tagName}.${one.className}: ${one.textContent!.trim()}`),
  )
}

/** The fields of the page that a toast covers now. */
export function coveredFields(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const toasts = [...document.querySelectorAll('.notices[popover] .notice')].map((one) => one.getBoundingClientRect())
    if (toasts.length === 0) throw new Error('there is no toast')
    const place = document.querySelector('#content')!.getBoundingClientRect()
    return [...document.querySelectorAll<HTMLInputElement>('#content :is(input, select, textarea)')]
      .filter((field) => {
        const { left, right, top, bottom } = field.getBoundingClientRect()
        const seen = { left, right, top: Math.max(top, place.top), bottom: Math.min(bottom, place.bottom) }
        if (seen.bottom <= seen.top) return false
        return toasts.some(
          (toast) =>
            toast.left < seen.right && toast.right > seen.left && toast.top < seen.bottom && toast.bottom > seen.top,
        )
      })
      .map(({ name }) => name)
  })
}
