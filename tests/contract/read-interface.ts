/** Reads the rows of the interface from its text, to compare them with the table of proofs. */
import { readFile } from 'node:fs/promises'
import path from 'node:path'

const FILE = path.join(import.meta.dir, '../../../shared/spec/interface.md')

/** Words in backticks that are not names: types, words of the envelope and values. */
const NO_NAMES = new Set(['data', 'bearer', 'csv', 'multipart', 'form'])

/** The rows of the interface as `heading / what / name`, in its order; undefined when the text is not there. */
export async function readInterface(): Promise<string[] | undefined> {
  const text = await readFile(FILE, 'utf8').catch(() => undefined)
  return text === undefined ? undefined : rowsOf(text)
}

/** Every row of a table, every numbered rule, every named field of an endpoint and of a sentence that lists fields. */
export function rowsOf(text: string): string[] {
  const rows: string[] = []
  let heading = ''
  let header: string[] | undefined
  let in_gaps = false
  for (const line of text.split('\n')) {
    const title = /^#+ (.+)$/.exec(line)?.[1]
    if (title) heading = title
    if (title) in_gaps = /gaps/i.test(title)
    if (/^Gaps?:/.test(line)) in_gaps = true
    if (in_gaps) continue
    if (line.startsWith('|')) {
      const cells = line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim())
      if (!header) header = cells
      else if (!cells[0]!.startsWith('---')) rows.push(...rowsOfTable(heading, header, cells))
    } else {
      header = undefined
      rows.push(...rowsOfLine(heading, line))
    }
  }
  return [...new Set(rows)]
}

function rowsOfTable(heading: string, header: string[], cells: string[]): string[] {
  const [first, second, third, fourth] = cells.map((cell) => cell.replaceAll('`', ''))
  if (header[0] === 'From') return [`${heading} / ${first} -> ${fourth}`]
  if (header[0] !== 'Method') {
    return first!.split(', ').map((name) => `${heading} / ${header[0]!.toLowerCase()} / ${name}`)
  }
  const endpoint = `${first} ${second}`
  if (third === undefined) throw new Error(`${endpoint} has no request`)
  const asked = namesIn(cells[2]!).map((name) => `${endpoint} / request / ${name}`)
  const answered = namesIn(cells[3]!).map((name) => `${endpoint} / response / ${name}`)
  return [endpoint, ...asked, ...answered]
}

function rowsOfLine(heading: string, line: string): string[] {
  const rule = /^(\d+)\. /.exec(line)?.[1]
  if (rule) return [`${heading} / rule / ${rule}`]
  const [, list, rest] = /^(List query parameters|Log time body|Update body fields)(.*)$/.exec(line) ?? []
  if (list) return namesIn(rest!).map((name) => `${heading} / ${list.toLowerCase()} / ${name}`)
  const columns = /^Export CSV columns, in order: ([^.]+)\./.exec(line)?.[1]
  if (columns) return columns.split(', ').map((column) => `${heading} / csv column / ${column}`)
  if (line.startsWith('Summary with')) return namesIn(line).map((name) => `${heading} / summary / ${name}`)
  if (line.startsWith('Body: {') || line.startsWith('Body: `{')) {
    return namesIn(line).map((name) => `${heading} / body / ${name}`)
  }
  if (line.startsWith('Rate-limit response headers')) {
    return [...line.matchAll(/X-RateLimit-\w+/g)].map(([name]) => `${heading} / header / ${name}`)
  }
  return [...line.matchAll(/#[0-9A-F]{6}/g)].map(([color]) => `${heading} / color / ${color}`)
}

/** Names of fields within backticks. */
function namesIn(cell: string): string[] {
  const names = [...cell.matchAll(/`([^`]+)`/g)].flatMap(([, code]) => code!.match(/[a-z][a-z_.]+/g) ?? [])
  const types = /^(string|integer|uuid|boolean|datetime|object|null|true|false)$/
  return names.filter((name) => !NO_NAMES.has(name) && !types.test(name))
}
