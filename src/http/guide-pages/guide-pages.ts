/** The pages of the guide, as they are in the repository. */
import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

const FOLDER = new URL('../../guide/', import.meta.url)

type GuidePage = { name: string; title: string }

/** Lists the pages by name, such as `api`. */
export async function listGuidePages(): Promise<GuidePage[]> {
  const files = (await readdir(fileURLToPath(FOLDER))).filter((file) => file.endsWith('.md')).sort()
  return Promise.all(files.map((file) => toPage(file)))
}

/** Reads a page in Markdown; undefined when there is none of that name. */
export async function readGuidePage(name: string): Promise<string | undefined> {
  const pages = await listGuidePages()
  return pages.some((page) => page.name === name) ? readFile(new URL(`${name}.md`, FOLDER), 'utf8') : undefined
}

async function toPage(file: string): Promise<GuidePage> {
  const text = await readFile(new URL(file, FOLDER), 'utf8')
  const name = file.replace(/\.md$/, '')
  // That of the API has no heading: it begins the OpenAPI document.
  return { name, title: /^# (.+)/.exec(text)?.[1] ?? 'The API' }
}
