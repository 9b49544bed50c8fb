/** A real Exim that hands one message to an SMTP server. Its spool and configuration are in a temporary folder. */
import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

/** Debian's package, or its program without the package, which conflicts with Postfix's. */
const PROGRAMS = ['/usr/sbin/exim4', '/opt/exim4/usr/sbin/exim4']

/** Why there is no Exim here, undefined when there is. */
export function whyNoExim(): string | undefined {
  if (!program()) return 'Exim is not installed'
  return process.getuid?.() === 0 ? undefined : 'Exim has to be started by root'
}

/** Delivers at once, without a queue. @returns its log */
export async function sendWithExim(next_port: number, from: string, to: string[], raw: Uint8Array): Promise<string> {
  const dir = mkdtempSync(path.join(tmpdir(), 'exim-'))
  try {
    const owner = Number(spawnSync('id', ['-u', 'Debian-exim']).stdout)
    chmodSync(dir, 0o755)
    for (const name of ['spool', 'log']) {
      mkdirSync(path.join(dir, name))
      chownSync(path.join(dir, name), owner, 0)
    }
    writeFileSync(path.join(dir, 'config'), configuration(dir, next_port))
    const options = ['-C', `${dir}/config`, '-odf', '-oi', '-f', from, ...to]
    const exim = Bun.spawn([program()!, ...options], { stdin: raw, stderr: 'pipe' })
    if ((await exim.exited) !== 0) throw new Error(`Exim failed: ${await new Response(exim.stderr).text()}`)
    return readFileSync(`${dir}/log/main`, 'utf8')
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

function program(): string | undefined {
  return PROGRAMS.find((name) => existsSync(name))
}

function configuration(dir: string, next_port: number): string {
  return `
exim_path = ${program()}
primary_hostname = exim.example
spool_directory = ${dir}/spool
log_file_path = ${dir}/log/%s
keep_environment =
never_users =
begin routers
next:
  driver = manualroute
  transport = next
  route_list = * 127.0.0.1 byname
  self = send
begin transports
next:
  driver = smtp
  port = ${next_port}
  allow_localhost
begin retry
* * F,1h,1m
`
}
