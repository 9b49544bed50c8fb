/** The faults that axe finds on a page, in light and in dark. */
import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'

const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8')

/** Faults of a page. Axe is put in by the browser's tools, because the policy lets no other script in. */
export async function faultsOf(page: Page): Promise<string[]> {
  await page.evaluate(AXE)
  const light = await page.evaluate(runAxe, undefined)
  await page.emulateMedia({ colorScheme: 'dark' })
  // Only colours differ.
  const dark = await page.evaluate(runAxe, 'color-contrast')
  await page.emulateMedia({ colorScheme: 'light' })
  return [...light, ...dark]
}

/** Runs in the browser. */
async function runAxe(runOnly: string | undefined): Promise<string[]> {
  // It is put into the page as a script.
  const { axe } = window as unknown as { axe: typeof import('axe-core') }
  const { violations } = await axe.run(document, { iframes: false, ...(runOnly && { runOnly: [runOnly] }) })
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`),
  )
}
