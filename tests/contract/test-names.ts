/** Reads the names of all tests from their files without running them. */
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'

const TESTS = path.join(import.meta.dir, '..')
/** The names in files of tests, also of those that take long. */
const SUFFIX = /\.(?:test|long)\.ts$/

/**
 * A call whose first argument is a name and whose second is a function: `test(...)`, `describe(...)`,
 * `...each(...)(...)`.
 */
const NAMED =
  /(?:\b(?:test|describe)(?:\.\w+)*|\))\(\s*(?:'((?:\\.|[^'\\\n])*)'|"([^"\n]*)"|`([^`]*)`),\s*(?:async\s*)?[(\w]/g

/** `file: name` and `file: group > name`, as they stand in the source (`%s` for what a table fills in). */
export async function readTestNames(): Promise<Set<string>> {
  const files = (await readdir(TESTS, { recursive: true })).filter((file) => SUFFIX.test(file))
  const names = await Promise.all(
    files.map(async (file) => namesIn(await readFile(path.join(TESTS, file), 'utf8')).map((name) => ({ file, name }))),
  )
  return new Set(names.flat().map(({ file, name }) => `${path.basename(file).replace(SUFFIX, '')}: ${name}`))
}

/** Names of the tests of a source, with those of the groups around them. */
export function namesIn(source: string): string[] {
  const groups: { name: string; indent: number }[] = []
  const names: string[] = []
  for (const found of source.matchAll(NAMED)) {
    const name = (found[1] ?? found[2] ?? found[3]!).replaceAll("\\'", "'")
    const statement = [...source.slice(0, found.index + 9).matchAll(/^( *)(test|describe)\b/gm)].at(-1)
    if (!statement) continue
    const indent = statement[1]!.length
    while (groups.length > 0 && groups.at(-1)!.indent >= indent) groups.pop()
    if (statement[2] === 'describe') groups.push({ name, indent })
    else names.push([...groups.map((group) => group.name), name].join(' > '))
  }
  return names
}
