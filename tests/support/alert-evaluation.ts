/** Evaluates the alert rules with Prometheus's own program over what a service showed around a fault. */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { readRules } from './alerts'

const RULES = path.join(import.meta.dirname, '../../src/guide/operate/alerts.yml')

/** Debian's package prometheus has it; `.ci/run` takes it out of there. */
export const PROMTOOL = ['/usr/bin/promtool', '/opt/first-hour/usr/bin/promtool', process.env.PROMTOOL ?? ''].find(
  (file) => fs.existsSync(file),
)

/** Values by series, such as `deskwire_database_up{instance="a"}`. */
export type Scrape = Map<string, number>

/** Two scrapes while the fault lasts: what grew between them grows on. */
type Faulty = [Scrape, Scrape]

/** Minutes of each part: longer than all windows and `for` of the rules. */
const PART_MIN = 130

/**
 * Scrapes a service as Prometheus does.
 * @param url of /metrics; one that does not answer is `up` 0
 */
export async function scrape(url: string, instance = 'a'): Promise<Scrape> {
  const place = `instance="${instance}",job="deskwire"`
  const text = await fetch(url, { signal: AbortSignal.timeout(5000) })
    .then((answer) => answer.text())
    .catch(() => undefined)
  const samples: Scrape = new Map([[`up{${place}}`, text === undefined ? 0 : 1]])
  for (const [, name, labels, value] of (text ?? '').matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm)) {
    // The time of a rule test begins at 0.
    const shown = name!.endsWith('_timestamp_seconds') ? Number(value) - Date.now() / 1000 : Number(value)
    samples.set(`${name}{${labels ? `${labels},` : ''}${place}}`, shown)
  }
  return samples
}

/**
 * Tells if an alert fires while the fault lasts, and if it is still firing long after it was mended.
 * @throws Error with what promtool says of the rules
 */
export function fires(
  alert: string,
  before: Scrape,
  during: Faulty,
  after: Scrape,
): { during: boolean; after: boolean } {
  const { expr } = readRules().find((rule) => rule.alert === alert)!
  const names = new Set(expr.match(/\b[a-z]\w+/g))
  const all = new Set([before, ...during, after].flatMap((samples) => [...samples.keys()]))
  const input_series = [...all]
    .filter((series) => names.has(series.slice(0, series.indexOf('{'))))
    .map((series) => ({ series, values: valuesOf(series, before, during, after) }))
  const firing = `clamp_max(count(ALERTS{alertname="${alert}",alertstate="firing"}), 1)`
  const isTrue = (expr: string, eval_time: string) =>
    runTests({ input_series, promql_expr_test: [{ expr, eval_time, exp_samples: [{ labels: '{}', value: 1 }] }] })
  return {
    during: isTrue(`max_over_time((${firing})[${PART_MIN}m:1m])`, `${2 * PART_MIN}m`),
    after: isTrue(firing, `${3 * PART_MIN}m`),
  }
}

function valuesOf(series: string, before: Scrape, [first, second]: Faulty, after: Scrape): string {
  const is_counter = /^\w+_(?:total|count|sum|bucket)\{/.test(series)
  const part = (value: number | undefined, count: number) =>
    value === undefined ? `_x${count - 1}` : `${value}x${count - 1}`
  const begun = first.get(series)
  const grown = second.get(series)
  if (!is_counter || grown === undefined) {
    return [part(before.get(series), PART_MIN), part(grown, PART_MIN), part(after.get(series), PART_MIN)].join(' ')
  }
  const each = grown - (begun ?? 0)
  const grows = `${begun ?? 0}+${Math.max(each, 0)}x${PART_MIN - 1}`
  const last = (begun ?? 0) + Math.max(each, 0) * (PART_MIN - 1)
  return [part(before.get(series), PART_MIN), grows, part(last, PART_MIN)].join(' ')
}

function runTests(test: object): boolean {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'alerts-'))
  const file = path.join(folder, 'tests.json')
  const tests = [{ interval: '1m', ...test }]
  fs.writeFileSync(file, JSON.stringify({ rule_files: [RULES], evaluation_interval: '1m', tests }))
  const { status, stdout, stderr } = spawnSync(PROMTOOL!, ['test', 'rules', file], { encoding: 'utf8' })
  fs.rmSync(folder, { recursive: true })
  if (status !== 0 && !/exp: ?\{?/.test(stdout + stderr)) throw new Error(stdout + stderr)
  return status === 0
}
