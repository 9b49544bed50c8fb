/**
 * The alert rules and the dashboard of the guide. tests/base/metrics/metrics.test.ts looks for their figures in a
 * service.
 */
import { expect, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { PROMTOOL } from '../../support/alert-evaluation'
import { readRules } from '../../support/alerts'

const ROOT = path.join(import.meta.dir, '../../..')
const RULES = path.join(ROOT, 'src/guide/operate/alerts.yml')
if (!PROMTOOL) console.log('promtool is not installed: the alert rules are not checked with it')

test.skipIf(!PROMTOOL)(
  'promtool takes the rules, and they fire when they should, also at the first event of a series',
  () => {
    const checked = spawnSync(PROMTOOL!, ['check', 'rules', RULES], { encoding: 'utf8' })
    expect([checked.status, checked.stderr]).toEqual([0, ''])
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rules-'))
    const unit_tests = fs
      .readFileSync(path.join(import.meta.dir, 'alert-rules.yml'), 'utf8')
      .replace('[RULES]', `[${RULES}]`)
    fs.writeFileSync(path.join(folder, 'tests.yml'), unit_tests)
    const tested = spawnSync(PROMTOOL!, ['test', 'rules', path.join(folder, 'tests.yml')], { encoding: 'utf8' })
    expect([tested.status, tested.stdout + tested.stderr]).toEqual([0, expect.stringContaining('SUCCESS')])
    fs.rmSync(folder, { recursive: true })
  },
)

test('each alert says what to do, which command shows that all is well, and names a section of the guide', () => {
  const guide = fs.readFileSync(path.join(ROOT, 'src/guide/operate.md'), 'utf8')
  const anchors = [...guide.matchAll(/^#+ (.*)$/gm)].map(([, title]) =>
    title!
      .toLowerCase()
      .replace(/[^\w\s-]/g, '')
      .replaceAll(' ', '-'),
  )
  const rules = readRules()
  expect(rules.length).toBeGreaterThan(10)
  for (const { alert, labels, annotations } of rules) {
    expect([alert, ['page', 'warn'].includes(labels.severity), annotations.action]).toEqual([
      ...[alert, true, expect.stringMatching(/\.$/)],
    ])
    expect([alert, annotations.well]).toEqual([
      alert,
      expect.stringMatching(/^`cli (doctor|why|version|backup|outbox stats)\b.*\.$/),
    ])
    const [page, anchor] = annotations.runbook.split('#')
    expect([alert, page, anchors.includes(anchor!)]).toEqual([alert, 'src/guide/operate.md', true])
  }
})
