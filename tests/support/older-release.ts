/** The release before this one, from the history of the repository. */
import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import path from 'node:path'

/** The commit of the release before this one. Databases and processes of it must go on working. */
const COMMIT = 'dd9e549b'

const ROOT = path.join(import.meta.dirname, '../..')

/** Why there can be none here; undefined when there can. */
export const WHY_NO_OLDER_RELEASE =
  spawnSync('git', ['-C', ROOT, 'cat-file', '-e', `${COMMIT}^{commit}`]).status === 0
    ? undefined
    : `the history has no commit ${COMMIT}`

/** Unpacks it and installs its packages. @returns its program */
export function installOlderRelease(folder: string): string {
  mkdirSync(folder, { recursive: true })
  run('sh', ['-c', `git -C '${ROOT}' archive ${COMMIT} | tar x -C '${folder}'`])
  run('node', [path.join(folder, 'src/launch.mjs'), '--version'])
  return path.join(folder, 'src/main.ts')
}

/** The text of one of its files. */
export function readOlder(file: string): string {
  return run('git', ['-C', ROOT, 'show', `${COMMIT}:${file}`])
}

/** Names of the files in one of its folders. */
export function listOlder(folder: string): string[] {
  return run('git', ['-C', ROOT, 'ls-tree', '--name-only', `${COMMIT}:${folder}`])
    .trim()
    .split('\n')
}

function run(program: string, args: string[]): string {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${status}: ${stderr}`)
  return stdout
}
