/** Runs `bun test`, shows its output, and reads its report: what passed and what failed in each file. */
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'

export type FailedTest = { name: string; error: string }
export type FileResult = { passed: number; failed: FailedTest[] }

export type RunResult = {
  /** By the path of the file. */
  files: Map<string, FileResult>
  /** Failures that are of no test: a file that cannot be loaded, an error between tests, an end by a signal. */
  outside: number
}

/** The error of such a test in Bun's report. */
const TIMED_OUT = 'test timed out'

/** Lines of an error that are kept. */
const ERROR_LINES = 12

let runs = 0

/** @param args of `bun test`; @param env variables of the tests */
export async function bunTest(args: string[], env: NodeJS.ProcessEnv, stopped: AbortSignal): Promise<RunResult> {
  const report = path.join(os.tmpdir(), `report-${++runs}.xml`)
  const reporter = ['--reporter=junit', `--reporter-outfile=${report}`]
  const tests = spawn(process.execPath, ['test', '--no-orphans', ...reporter, ...args], {
    env: { ...process.env, ...(process.stderr.isTTY && { FORCE_COLOR: '1' }), ...env },
    stdio: ['inherit', 'inherit', 'pipe'],
  })
  const stop = () => tests.kill(stopped.reason)
  stopped.addEventListener('abort', stop)
  const counts = { fail: 0, error: 0 }
  /** The files whose tests run, in the order of the errors between tests. */
  const errors_of: string[] = []
  let running = ''
  let rest = ''
  tests.stderr.on('data', (chunk: Buffer) => {
    process.stderr.write(chunk)
    const lines = (rest + chunk.toString()).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines.map(Bun.stripANSI)) {
      running = /^(\S+\.ts):$/.exec(line)?.[1] ?? running
      if (line === '# Unhandled error between tests') errors_of.push(running)
      const [, count, what] = /^ *(\d+) (fail|error)s?$/.exec(line) ?? []
      if (what === 'fail' || what === 'error') counts[what] = Number(count)
    }
  })
  const code = await new Promise<number | null>((resolve) => tests.on('close', resolve))
  stopped.removeEventListener('abort', stop)

  const files = fs.existsSync(report) ? readReport(fs.readFileSync(report, 'utf8')) : new Map<string, FileResult>()
  const named = [...files.values()].reduce((sum, { failed }) => sum + failed.length, 0)
  // A test that timed out goes on. The error with which it ends later is its own: it has failed already.
  const timed_out = [...files].filter(([, { failed }]) => failed.some(({ error }) => error === TIMED_OUT))
  const of_timed_out = new Set(timed_out.map(([file]) => path.resolve(file)))
  const late = errors_of.filter((file) => of_timed_out.has(path.resolve(file)))
  const outside = Math.max(counts.fail - named, counts.error - late.length)
  return { files, outside: code !== 0 && named + outside === 0 ? 1 : outside }
}

/** Reads a report in the format of JUnit, as Bun writes it. */
function readReport(xml: string): Map<string, FileResult> {
  const files = new Map<string, FileResult>()
  for (const [, attributes = '', content = ''] of xml.matchAll(/<testcase ([^>]*?)(?:\/>|>(.*?)<\/testcase>)/gs)) {
    const { file = '', name = '', classname } = attributesOf(attributes)
    // It ended the whole run, and is of no test.
    if (name === '(worker crashed)') continue
    const result = files.get(file) ?? { passed: 0, failed: [] }
    files.set(file, result)
    if (content.includes('<failure')) {
      result.failed.push({ name: classname ? `${classname} > ${name}` : name, error: errorOf(content) })
    } else if (!content.includes('<skipped')) result.passed++
  }
  return files
}

function attributesOf(text: string): Record<string, string> {
  return Object.fromEntries([...text.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, unescaped(value!)]))
}

/** The beginning of an error with its stack. */
function errorOf(content: string): string {
  const { message = '' } = attributesOf(/<failure ([^>]*)>/.exec(content)?.[1] ?? '')
  const text = unescaped(/<failure [^>]*>(.*)<\/failure>/s.exec(content)?.[1] ?? '') || message
  return Bun.stripANSI(text).trim().split('\n').slice(0, ERROR_LINES).join('\n')
}

const ENTITIES: Record<string, string> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' }

function unescaped(text: string): string {
  return text.replace(/&(?:#(\d+)|(\w+));/g, (all, number, name) =>
    number ? String.fromCodePoint(Number(number)) : (ENTITIES[name] ?? all),
  )
}
