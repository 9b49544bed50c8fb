/**
 * Keeps the OpenAPI document of a release for `http/released-document.test.ts`. At a release, with a service of it:
 * `curl localhost:3000/swagger/json | bun tests/support/keep-document.ts`
 */
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { gzipSync } from 'node:zlib'

/** Words for people, which break nobody. */
const WORDS = ['description', 'summary', 'title', 'examples', 'example', 'tags', 'operationId', 'headers']
/** The names in these are of fields, not of keywords. */
const NAMES = ['properties', 'paths', 'schemas', 'responses', 'parameters']

const { info, paths, components } = JSON.parse(await Bun.stdin.text())
const kept = { info: { version: info.version }, ...bare({ paths, components }) }
const file = path.join(import.meta.dirname, '../http/released-document.json.gz')
writeFileSync(file, gzipSync(JSON.stringify(kept), { level: 9 }))

function bare<T>(value: T, is_names = false): T {
  if (Array.isArray(value)) return value.map((one) => bare(one)) as T
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([name]) => is_names || !WORDS.includes(name))
  return Object.fromEntries(entries.map(([name, inner]) => [name, bare(inner, !is_names && NAMES.includes(name))])) as T
}
