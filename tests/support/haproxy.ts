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
  const folder = mkdtempSync(path.join(tmpdir(), 'haproxy-'))
  const file = path.join(folder, 'haproxy.cfg')
  writeFileSync(file, configuration(ports, replicas))
  const program = spawn(PROGRAM!, ['-db', '-f', file], { stdio: ['ignore', 'pipe', 'pipe'] })
  let log = ''
  for (const stream of [program.stdout, program.stderr]) stream.on('data', (chunk) => (log += chunk))
  await until('haproxy serves', async () => {
    if (program.exitCode !== null) throw new Error(`haproxy ended: ${log}`)
    const answer = await fetch(`http://127.0.0.1:${ports.http}/readyz`).catch(() => undefined)
    return answer?.status === 200
  })
  return {
    http_port: ports.http,
    smtp_port: ports.smtp,
    async stop() {
      const ended = new Promise((resolve) => program.once('exit', resolve))
      program.kill('SIGKILL')
      if (program.exitCode === null && program.signalCode === null) await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The guide's `haproxy.cfg`, with other ports and times. */
function configuration(ports: Ports, replicas: Ports[]): string {
  const servers = (line: (replica: Ports) => string) =>
    replicas.map((replica, n) => `  server desk${n + 1} ${line(replica)}`)
  return [
    'defaults',
    '  mode http',
    '  timeout connect 2s',
    '  timeout client 60s',
    '  timeout server 60s',
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
