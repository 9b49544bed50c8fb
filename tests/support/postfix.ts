/** A real Postfix as relay, on loopback only. Its queue and configuration are in a temporary folder. */
import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { freePort } from './ports'
import { until } from './service'

const POSTFIX = '/usr/sbin/postfix'
const SERVICES = [
  'pickup unix n - n 60 1 pickup',
  'cleanup unix n - n - 0 cleanup',
  'qmgr unix n - n 1 1 qmgr',
  'tlsmgr unix - - n 1000? 1 tlsmgr',
  'rewrite unix - - n - - trivial-rewrite',
  'bounce unix - - n - 0 bounce',
  'defer unix - - n - 0 bounce',
  'trace unix - - n - 0 bounce',
  'flush unix n - n 1000? 0 flush',
  'proxymap unix - - n - - proxymap',
  'smtp unix - - n - - smtp',
  'relay unix - - n - - smtp',
  'showq unix n - n - - showq',
  'error unix - - n - - error',
  'retry unix - - n - - error',
  'anvil unix - - n - 1 anvil',
  'scache unix - - n - 1 scache',
  'postlog unix-dgram n - n - 1 postlogd',
]

export type Relay = Disposable & {
  /** Where it takes mail. */
  port: number
  /** Messages in its queue. */
  queued(): number
  /** Tries everything in the queue now. */
  flush(): void
  /** The process above all of its others. */
  pid: number
}

/** Why there can be no relay here, undefined when there can: Postfix wants to be started by root. */
export function whyNoRelay(): string | undefined {
  if (!existsSync(POSTFIX)) return 'Postfix is not installed'
  return process.getuid?.() === 0 ? undefined : 'Postfix has to be started by root'
}

/**
 * Starts a relay that hands everything it accepts to an SMTP server on loopback.
 * @param next_port that server's
 * @param own settings of Postfix (`main.cf`) beside those of the relay
 */
export async function startRelay(next_port: number, own: Record<string, string> = {}): Promise<Relay> {
  const dir = mkdtempSync(path.join(tmpdir(), 'relay-'))
  chmodSync(dir, 0o755)
  const port = await freePort()
  const owner = Number(spawnSync('id', ['-u', 'postfix']).stdout)
  for (const name of ['config', 'queue', 'data']) mkdirSync(path.join(dir, name))
  chownSync(path.join(dir, 'data'), owner, 0)
  const settings = {
    compatibility_level: '3.6',
    queue_directory: `${dir}/queue`,
    data_directory: `${dir}/data`,
    command_directory: '/usr/sbin',
    daemon_directory: '/usr/lib/postfix/sbin',
    mail_owner: 'postfix',
    setgid_group: 'postdrop',
    inet_interfaces: '127.0.0.1',
    inet_protocols: 'ipv4',
    myhostname: 'relay.example',
    mydestination: '',
    local_recipient_maps: '',
    alias_maps: '',
    mynetworks: '127.0.0.0/8',
    smtpd_relay_restrictions: 'permit_mynetworks, reject',
    relayhost: `[127.0.0.1]:${next_port}`,
    message_size_limit: '30000000',
    smtp_tls_security_level: 'may',
    minimal_backoff_time: '1s',
    maximal_backoff_time: '2s',
    queue_run_delay: '1s',
    maillog_file: `${dir}/log`,
    maillog_file_prefixes: dir,
    ...own,
  }
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`)
  writeFileSync(`${dir}/config/main.cf`, `${lines.join('\n')}\n`)
  writeFileSync(`${dir}/config/master.cf`, `127.0.0.1:${port} inet n - n - - smtpd\n${SERVICES.join('\n')}\n`)
  postfix(dir, 'start')
  await until('the relay answers', async () => (await greeting(port)).startsWith('220'))
  return {
    port,
    queued: () => count(dir),
    flush: () => postfix(dir, 'flush'),
    pid: Number(readFileSync(`${dir}/queue/pid/master.pid`, 'utf8')),
    [Symbol.dispose]() {
      spawnSync(POSTFIX, ['-c', `${dir}/config`, 'stop'])
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

function postfix(dir: string, command: string): void {
  const { status, stderr } = spawnSync(POSTFIX, ['-c', `${dir}/config`, command], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`postfix ${command} ended with ${status}: ${stderr}`)
}

function count(dir: string): number {
  const { stdout } = spawnSync('/usr/sbin/postqueue', ['-c', `${dir}/config`, '-j'], { encoding: 'utf8' })
  return stdout.split('\n').filter(Boolean).length
}

function greeting(port: number): Promise<string> {
  return new Promise((resolve) => {
    Bun.connect({
      hostname: '127.0.0.1',
      port,
      socket: {
        data(socket, data) {
          resolve(data.toString())
          socket.end('QUIT\r\n')
        },
        connectError: () => resolve(''),
        close: () => resolve(''),
      },
    }).catch(() => resolve(''))
  })
}
