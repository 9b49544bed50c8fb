/** A real haproxy in front of replicas, as the guide configures it, on ports of its own. */
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { freePort } from './ports'
import { until } from './service'

const PROGRAM = ['/usr/sbin/haproxy', '/usr/bin/haproxy'].find((file) => existsSync(file))

/** Why there can be none here; undefined when there can. */
export const WHY_NO_HAPROXY = PROGRAM ? undefined : 'there is no haproxy: apt-get install haproxy'

export type Haproxy = { http_port: number; smtp_port: number; stop(): Promise<void> }

/** The ports of a replica. */
type Ports = { http: number; smtp: number }

/** Starts one, and waits until it serves. Each replica is asked for `/readyz` twice a second. */
export async function startHaproxy(replicas: Ports[]): Promise<Haproxy> {
  const ports = { http: await freePort(), smtp: await freePort() }
  const stop = await run(configuration(ports, replicas), `http://127.0.0.1:${ports.http}/readyz`)
  return { http_port: ports.http, smtp_port: ports.smtp, stop }
}

/** A proxy for HTTP alone, in front of one port. */
export type Front = { url: string; stop(): Promise<void> }

/**
 * Starts one, and waits until it serves.
 * @param lines of haproxy's configuration, for what it does with requests and answers
 * @param prefix the path below which it serves, which it takes away
 */
export async function startFront(port: number, lines: string[], prefix = ''): Promise<Front> {
  const own = await freePort()
  const text = [
    ...HTTP,
    'listen http',
    `  bind 127.0.0.1:${own}`,
    ...(prefix ? [`  http-request deny deny_status 421 unless { path_beg ${prefix}/ }`] : []),
    ...(prefix ? [`  http-request replace-path ${prefix}(/.*) \\1`] : []),
    ...lines.map((line) => `  ${line}`),
    `  server desk 127.0.0.1:${port}`,
    '',
  ].join('\n')
  const url = `http://127.0.0.1:${own}${prefix}`
  return { url, stop: await run(text, `${url}/readyz`) }
}

/** @param ready_url answers 200 when it serves @returns what stops it */
async function run(text: string, ready_url: string): Promise<() => Promise<void>> {
  const folder = mkdtempSync(path.join(tmpdir(), 'haproxy-'))
  const file = path.join(folder, 'haproxy.cfg')
  writeFileSync(file, text)
  const program = spawn(PROGRAM!, ['-db', '-f', file], { stdio: ['ignore', 'pipe', 'pipe'] })
  let log = ''
  for (const stream of [program.stdout, program.stderr]) stream.on('data', (chunk) => (log += chunk))
  await until('haproxy serves', async () => {
    if (program.exitCode !== null) throw new Error(`haproxy ended: ${log}`)
    const answer = await fetch(ready_url).catch(() => undefined)
    return answer?.status === 200
  })
  return async () => {
    const ended = new Promise((resolve) => program.once('exit', resolve))
    program.kill('SIGKILL')
    if (program.exitCode === null && program.signalCode === null) await ended
    rmSync(folder, { recursive: true, force: true })
  }
}

const HTTP = ['defaults', '  mode http', '  timeout connect 2s', '  timeout client 60s', '  timeout server 60s']

/** The guide's `haproxy.cfg`, with other ports and times. */
function configuration(ports: Ports, replicas: Ports[]): string {
  const servers = (line: (replica: Ports) => string) =>
    replicas.map((replica, n) => `  server desk${n + 1} ${line(replica)}`)
  return [
    ...HTTP,
    '  timeout check 5s',
    '  option redispatch',
    '  default-server check inter 500ms fall 2 rise 1',
    'listen http',
    `  bind 127.0.0.1:${ports.http}`,
    '  balance roundrobin',
    '  option forwardfor',
    '  option httpchk GET /readyz',
    ...servers(({ http }) => `127.0.0.1:${http}`),
    'listen smtp',
    `  bind 127.0.0.1:${ports.smtp}`,
    '  mode tcp',
    '  balance roundrobin',
    '  option httpchk GET /readyz',
    ...servers(({ http, smtp }) => `127.0.0.1:${smtp} send-proxy-v2 port ${http}`),
    '',
  ].join('\n')
}
