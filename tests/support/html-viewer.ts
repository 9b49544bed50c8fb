/** Opens messages in Chromium as a page shows them, and reports what they do and must not do. */
import { existsSync } from 'node:fs'
import { chromium, type Page } from 'playwright-core'
import { auditMessages, type Fault, TITLE } from './html-audit'

const CHROMIUM = '/usr/bin/chromium'
const FLAGS = `--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
  --disable-component-update --disable-sync`.split(/\s+/)

/** Why nothing can be looked at; undefined when it can. */
export function whyNoViewer(): string | undefined {
  return existsSync(CHROMIUM) ? undefined : `${CHROMIUM} is missing`
}

/** The way of the messages into the page: as part of what the server sends, or by a script. */
export type Way = 'served' | 'inserted'

export type Loads = 'nothing' | 'https images'

export type Viewer = AsyncDisposable & {
  /** Faults of the messages on one page. @param loads URLs that they may request; none by default */
  look(messages: string[], way: Way, loads?: Loads): Promise<Fault[]>
}

export async function startViewer(timeout_ms: number): Promise<Viewer> {
  const pages = new Map<string, string>()
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: (request) => {
      const page = pages.get(new URL(request.url).pathname)
      const headers = { 'content-type': 'text/html; charset=utf-8' }
      return page === undefined ? new Response('', { status: 404 }) : new Response(page, { headers })
    },
  })
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS, timeout: timeout_ms })
  const context = await browser.newContext({ viewport: { width: 900, height: 600 } })
  return {
    async look(messages, way, loads = 'nothing') {
      const address = new URL(`/page-${pages.size}`, server.url)
      pages.set(address.pathname, pageOf(messages, way))
      const page = await context.newPage()
      page.setDefaultTimeout(timeout_ms)
      try {
        return await lookAt(page, address.href, loads)
      } finally {
        await page.close()
      }
    },
    async [Symbol.asyncDispose]() {
      await browser.close()
      await server.stop(true)
    },
  }
}

async function lookAt(page: Page, address: string, loads: Loads): Promise<Fault[]> {
  const last = new URL('/last', address).href
  const faults: Fault[] = []
  const add = (what: string) => faults.push({ what })
  await page.route(
    (url) => url.href !== address,
    (route) => route.abort(),
  )
  page.on('request', (request) => {
    const url = request.url()
    if (loads === 'https images' && request.resourceType() === 'image' && url.startsWith('https:')) return
    if (url !== address && url !== last && !url.startsWith('data:')) add(`requests ${url}`)
  })
  page.on('framenavigated', (frame) => frame.url() !== address && add(`navigates to ${frame.url()}`))
  page.on('popup', () => add('opens a window'))
  // The browser logs that an image of nobody did not come.
  const isAllowed = (url: string) => url === last || (loads === 'https images' && url.startsWith('https:'))
  page.on('console', (message) => isAllowed(message.location().url) || add(`logs ${message.text()}`))
  page.on('pageerror', (error) => add(`throws ${error.message}`))
  page.on('dialog', async (dialog) => {
    add('opens a dialog')
    await dialog.dismiss()
  })
  try {
    await page.goto(address)
    // Requests of the messages came before this one.
    await page.evaluate(waitForImage, '/last')
    return [...faults, ...(await page.evaluate(auditMessages, { address, loads }))]
  } catch (error) {
    // A page that went away cannot be asked.
    if (faults.length > 0) return faults
    throw error
  }
}

function waitForImage(src: string): Promise<unknown> {
  const image = new Image()
  const settled = new Promise((resolve) => {
    image.onload = image.onerror = resolve
  })
  image.src = src
  return settled
}

/** Each message as a careless client shows it, with buttons around it that it must not touch. */
function pageOf(messages: string[], way: Way): string {
  const sections = messages.map(
    (html) => `
      <section>
        <button class="left">Left</button><button class="right">Right</button>
        <div class="message">${way === 'served' ? html : ''}</div>
        <button class="below">Below</button>
      </section>`,
  )
  const list = JSON.stringify(way === 'inserted' ? messages : []).replaceAll('<', '\\u003c')
  return `<!doctype html>
    <html>
      <head>
        <title>${TITLE}</title>
        <link rel="icon" href="data:,">
        <style>
          section { display: flow-root; margin: 40px 0 }
          button { width: 100px; height: 30px; padding: 0; border: 0 }
          .left { float: left }
          .right { float: right }
          .below { display: block; clear: both }
          .message { margin: 0 150px }
        </style>
        <script>var hits = 0; function hit() { hits += 1 }</script>
      </head>
      <body>${sections.join('')}
        <script>
          for (const [index, html] of ${list}.entries()) {
            document.querySelectorAll('.message')[index].innerHTML = html
          }
        </script>
      </body>
    </html>`
}
