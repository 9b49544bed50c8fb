/** `/llms.txt`: a list of the guide's pages for programs that read, and the pages themselves. */
import Elysia, { NotFoundError } from 'elysia'
import { config } from '../../base/config'
import { listGuidePages, readGuidePage } from './guide-pages'

const ABOUT = `# Deskwire

> A support ticketing service for many organizations: a JSON API, the mail path around it, a console, and tools for
> programs by the Model Context Protocol.

## Guide

`

export const guideRoutes = new Elysia({ name: 'guide', detail: { hide: true, permission: 'anyone' } })
  .get('/llms.txt', async () => {
    const pages = await listGuidePages()
    const links = pages.map(({ name, title }) => `- [${title}](${config.BASE_URL}/guide/${name}.md)\n`)
    return plain(ABOUT + links.join(''))
  })
  .get('/guide/:page', async ({ params }) => {
    const text = params.page.endsWith('.md') ? await readGuidePage(params.page.slice(0, -3)) : undefined
    if (text === undefined) throw new NotFoundError()
    return plain(text)
  })

/** Browsers show it: many would save a text of the type Markdown. */
function plain(text: string): Response {
  return new Response(text, {
    headers: {
      'content-type': 'text/plain; charset=utf-8',
      'cache-control': 'no-cache',
      'x-content-type-options': 'nosniff',
    },
  })
}
