/**
 * Refuses a Bun that is too old for this version: it lacks what the product relies on, and shows it only under load.
 * Standard twin: `engines` of package.json, of which npm only warns.
 */
import path from 'node:path'
import { engines } from '../../../package.json'

const ROOT = path.join(import.meta.dirname, '../../..')

/** The version of Bun that runs here; undefined in another runtime. */
export const bun_version = process.versions.bun

/** @returns why the Bun of this process is too old, and the command that replaces it */
export function whyTooOld(version = bun_version ?? '0'): string | undefined {
  const needed = engines.bun.replace('>=', '')
  if (version.localeCompare(needed, 'en', { numeric: true }) >= 0) return undefined
  const bun = process.execPath
  const prepare = `${bun} src/launch.mjs --prepare src/main.ts`
  return `${bun} is Bun ${version}, and this version needs ${needed} or later: run cd ${ROOT} && install -m 0755 "$(${prepare})" ${bun}`
}
