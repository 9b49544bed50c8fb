/** Which release and which build runs here. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { version } from '../../../package.json'
import { bun_version } from '../runtime/needed-bun'

/** Written by the Dockerfile, from the build argument COMMIT. */
const BUILT_FROM = path.join(import.meta.dirname, '../../commit')
const CHECKOUT = path.join(import.meta.dirname, '../../../.git')

/**
 * Version of package.json, the first twelve digits of the commit or `unknown`, and the version of Bun. A checkout asks
 * git once, when this module is loaded: its files may change while the process runs.
 */
export const build = {
  version,
  commit:
    ((existsSync(BUILT_FROM) ? readFileSync(BUILT_FROM, 'utf8') : checkedOut()) ?? '').trim().slice(0, 12) || 'unknown',
  bun: bun_version ?? 'unknown',
}

/**
 * Names the folder of git, so that git looks at no other one and asks for no owner: root starts checkouts of others.
 */
function checkedOut(): string | undefined {
  if (!existsSync(CHECKOUT)) return undefined
  try {
    return execFileSync('git', [`--git-dir=${CHECKOUT}`, 'rev-parse', 'HEAD'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
  } catch {
    return undefined
  }
}
