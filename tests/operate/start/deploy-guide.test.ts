/** The files of the guide, and the commands of `deploy.md`: their settings exist, and the service gets its time. */
import { expect, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { readConfig } from '../../../src/base/config'
import { ERRORS } from '../../../src/base/errors'
import { SETTINGS } from '../../../src/base/settings/table'

const ROOT = path.join(import.meta.dir, '../../..')
const GUIDE = read('src/guide/deploy.md')
/** The time that the service needs to stop, besides DRAIN_SECONDS. */
const STOP_SECONDS = 30
/** Not settings of ours: the runtime reads them. Large mail that gets a signature is written to a file in TMPDIR. */
const OF_THE_RUNTIME = ['TMPDIR']
const BUN_SETTINGS = ['BUN_CONFIG_MAX_HTTP_REQUESTS=2048', 'UV_THREADPOOL_SIZE=16', 'BUN_JSC_forceRAMSize=536870912']

type Environment = Record<string, string>
type Compose = { services: { desk: { environment: Environment; stop_grace_period: string } } }
// biome-ignore lint/suspicious/noExplicitAny: resources of Kubernetes have many shapes
type Resource = any

const FILES = 'src/guide/operate'
const [alone, beside_others] = ['compose', 'compose-postgres'].map(
  (name) => Bun.YAML.parse(read(`${FILES}/${name}.yml`)) as Compose,
)
const resources = Bun.YAML.parse(read(`${FILES}/kubernetes.yml`)) as Resource[]
const pod = resources.find(({ kind }) => kind === 'Deployment').spec.template.spec
const unit = read(`${FILES}/deskwire.service`)

test('every setting of an example exists, and the service takes its value', () => {
  const secret = resources.find(({ kind }) => kind === 'Secret')
  const pairs: { name: string; value: string }[] = pod.containers[0].env
  const kubernetes = { ...secret.stringData, ...Object.fromEntries(pairs.map(({ name, value }) => [name, value])) }
  const command = Object.fromEntries([...GUIDE.matchAll(/--env (\w+)=(\S+)/g)].map(([, name, value]) => [name, value]))
  const lines = `${unit.replaceAll('Environment=DATA_DIR', 'DATA_DIR')}\n${read(`${FILES}/settings`)}`
  const service = Object.fromEntries([...lines.matchAll(/^([A-Z_]+)=(.*)$/gm)].map(([, name, value]) => [name, value]))
  const examples: Environment[] = [alone!, beside_others!].map(({ services }) => services.desk.environment)
  for (const example of [...examples, kubernetes, command, service]) {
    expect(Object.keys(example).length).toBeGreaterThan(0)
    expect(Object.keys(example).filter((name) => !(name in SETTINGS) && !OF_THE_RUNTIME.includes(name))).toEqual([])
    const secrets = example.SECRET_KEY ? { SECRET_KEY: 'planted-7f3Q9-secret-key-Zr81-of-the-guide' } : {}
    expect(() => readConfig({ ...example, ...secrets })).not.toThrow()
  }
})

test('whatever stops the service waits until it has stopped', () => {
  for (const { services } of [alone!, beside_others!]) {
    expect(Number.parseInt(services.desk.stop_grace_period, 10)).toBeGreaterThan(STOP_SECONDS)
  }
  const drain = pod.containers[0].env.find(({ name }: { name: string }) => name === 'DRAIN_SECONDS').value
  expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(STOP_SECONDS + Number(drain))
  expect(Number(/--stop-timeout (\d+)/.exec(GUIDE)![1])).toBeGreaterThan(STOP_SECONDS)
  expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)![1])).toBeGreaterThan(STOP_SECONDS)
})

test('liveness does not look at the database, readiness does', () => {
  const { startupProbe, livenessProbe, readinessProbe, ports } = pod.containers[0]
  const paths = [startupProbe, livenessProbe, readinessProbe].map(({ httpGet }) => httpGet.path)
  expect(paths).toEqual(['/healthz', '/healthz', '/readyz'])
  const names = ports.map(({ name }: { name: string }) => name)
  const targets = resources.filter(({ kind }) => kind === 'Service').flatMap(({ spec }) => spec.ports)
  for (const { targetPort } of targets) expect(names).toContain(targetPort)
})

test('what proxies answer by themselves has codes of the API', () => {
  for (const name of ['nginx.conf', 'haproxy.cfg', 'Caddyfile']) {
    const bodies = [...read(`${FILES}/${name}`).matchAll(/\{"error":.*?\}\}\}/g)].map(([body]) => JSON.parse(body))
    expect(bodies.length).toBeGreaterThan(0)
    for (const { error } of bodies) {
      expect(error).toEqual({ code: expect.any(String), message: expect.any(String), details: {} })
      expect(Object.keys(ERRORS)).toContain(error.code)
    }
  }
})

test('the image and the unit give Bun the settings of the launcher', () => {
  for (const setting of BUN_SETTINGS) {
    const [name, value] = setting.split('=')
    expect(read('src/launch.sh')).toContain(`export ${name}="\${${name}:-${value}}"`)
    expect(read('Dockerfile')).toContain(setting)
    expect(unit).toContain(setting)
  }
})

const analyze = Bun.which('systemd-analyze')
if (!analyze) console.warn('systemd-analyze is missing: it does not check the unit of the guide')

test.skipIf(!analyze)('systemd understands the units, and finds little that it exposes', () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'unit-'))
  const file = path.join(dir, 'deskwire.service')
  const others = ['deskwire-certificate.service', 'deskwire-certificate.path']
  fs.writeFileSync(file, unit.replace('/usr/local/bin/bun ', `${process.execPath} `))
  for (const name of others) fs.copyFileSync(path.join(ROOT, FILES, name), path.join(dir, name))
  const verified = spawnSync(analyze!, ['verify', file, ...others.map((name) => path.join(dir, name))], {
    encoding: 'utf8',
  })
  expect([verified.status, verified.stderr]).toEqual([0, ''])
  const { stdout } = spawnSync(analyze!, ['security', '--offline=true', file], { encoding: 'utf8' })
  expect(Number(/exposure level for \S+: ([\d.]+)/.exec(stdout)![1])).toBeLessThan(2)
  fs.rmSync(dir, { recursive: true })
})

function read(file: string): string {
  return fs.readFileSync(path.join(ROOT, file), 'utf8')
}
