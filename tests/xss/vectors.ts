/** Hostile HTML, one vector a line in the text files beside this one: our own and well-known ones. */
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'

const CHARACTERS: Record<string, string> = {
  ...{ NUL: '\0', SOH: '\u0001', TAB: '\t', LF: '\n', FF: '\f', CR: '\r', SLASH: '/' },
  ...{ NBSP: '\u00a0', ZWSP: '\u200b', LS: '\u2028', BOM: '\ufeff' },
}

export const VECTORS = readdirSync(import.meta.dir)
  .filter((file) => file.endsWith('.txt'))
  .sort()
  .flatMap((file) => readFileSync(path.join(import.meta.dir, file), 'utf8').split('\n'))
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => line.replace(/\{([A-Z]+)\}/g, (token, name: string) => CHARACTERS[name] ?? token))
