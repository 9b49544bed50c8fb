/** The version and the commit of the build, as everybody who asks is told. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { version } from '../../../package.json'
import { createApp } from '../../../src/app'
import { build } from '../../../src/base/process/build'

const ROOT = path.join(import.meta.dir, '../../..')
const COMMIT = '0123456789abcdef0123456789abcdef01234567'

let dir: string
beforeAll(() => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'version-'))
})
afterAll(() => fs.rmSync(dir, { recursive: true, force: true }))

/** Copies what knows the build into a folder. */
function copySources(project: string): void {
  for (const file of ['package.json', 'src/base/process/build.ts', 'src/base/runtime/needed-bun.ts']) {
    fs.mkdirSync(path.join(project, path.dirname(file)), { recursive: true })
    fs.copyFileSync(path.join(ROOT, file), path.join(project, file))
  }
}

/** Says what a copy in a folder of its own knows of its build. */
function buildOf(name: string, prepare: (project: string) => void): typeof build {
  const project = path.join(dir, name)
  copySources(project)
  prepare(project)
  const script = "import { build } from './src/base/process/build'; console.log(JSON.stringify(build))"
  return JSON.parse(execFileSync(process.execPath, ['-e', script], { cwd: project, encoding: 'utf8' }))
}

function git(project: string, ...args: string[]): string {
  const who = ['-c', 'user.name=A', '-c', 'user.email=a@example.com']
  return execFileSync('git', [...who, ...args], { cwd: project, encoding: 'utf8' }).trim()
}

function makeCheckout(project: string): void {
  git(project, 'init', '--quiet')
  git(project, 'commit', '--quiet', '--allow-empty', '--message', 'First')
}

test('a build knows the commit that was written into it, also beside a checkout', () => {
  const built = buildOf('built', (project) => {
    makeCheckout(project)
    fs.writeFileSync(path.join(project, 'src/commit'), `${COMMIT}\n`)
  })
  expect(built).toEqual({ version, commit: COMMIT.slice(0, 12), bun: process.versions.bun! })
})

test('a checkout knows its commit, with a branch, packed, detached, and as a worktree', () => {
  const heads: string[] = []
  const commits = [
    buildOf('branch', (project) => {
      makeCheckout(project)
      heads.push(git(project, 'rev-parse', 'HEAD'))
    }),
    buildOf('packed', (project) => {
      makeCheckout(project)
      git(project, 'pack-refs', '--all')
      git(project, 'checkout', '--quiet', '--detach')
      heads.push(git(project, 'rev-parse', 'HEAD'))
    }),
    buildOf('branch/worktree', (project) => {
      fs.rmSync(project, { recursive: true })
      git(path.join(dir, 'branch'), 'worktree', 'add', '--quiet', '-b', 'other', project)
      copySources(project)
      heads.push(git(project, 'rev-parse', 'HEAD'))
    }),
  ].map(({ commit }) => commit)
  expect(commits).toEqual(heads.map((head) => head.slice(0, 12)))
})

test('what is neither a build nor a checkout is `unknown`, also within the checkout of another program', () => {
  makeCheckout(dir)
  expect(buildOf('plain', () => {}).commit).toBe('unknown')
  expect(
    buildOf('built without an argument', (project) => {
      fs.writeFileSync(path.join(project, 'src/commit'), '\n')
    }).commit,
  ).toBe('unknown')
})

test('the command, the probe and the page of changes name one version', async () => {
  const printed = execFileSync(process.execPath, [path.join(ROOT, 'src/cli.ts'), 'version'], { encoding: 'utf8' })
  expect(JSON.parse(printed)).toEqual(build)
  const probe = await createApp(async () => false).handle(new Request('http://localhost/healthz'))
  expect(await probe.json()).toEqual({ status: 'ok', version, commit: build.commit })
  const [, newest] = /^## (\d\S+)/m.exec(fs.readFileSync(path.join(ROOT, 'src/guide/changes.md'), 'utf8'))!
  expect(newest).toBe(version)
})
