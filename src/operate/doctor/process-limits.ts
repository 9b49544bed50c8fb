/** Compares the limits of the operating system with what the settings may need: open files and memory. */
import { readFile } from 'node:fs/promises'
import { config } from '../../base/config'
import { type Finding, failure, warning } from './finding'

const MIB = 1024 ** 2
/** Files of the process itself, and HTTP connections of a busy hour. */
const FILES_BESIDE = 1024
/**
 * Measured with little load: 95 MiB for the service, 31 for the reader of mail, and 2.5 for each MiB of a large mail.
 */
const SERVICE_MIB = 160
const EMBEDDED_MIB = 200
const MAIL_FACTOR = 2.5
/** A share of the memory in use, beyond which little is left. */
const MOST_USED = 0.9

/**
 * Looks at the limits of this process, which are mostly those of the service too. @param cgroup the folder of version 2
 */
export async function checkLimits(cgroup = '/sys/fs/cgroup'): Promise<Finding[]> {
  return [...(await fileFindings()), ...(await memoryFindings(cgroup))]
}

async function fileFindings(): Promise<Finding[]> {
  const text = await readFile('/proc/self/limits', 'utf8').catch(() => '')
  const [, , hard = ''] = /^Max open files\s+(\S+)\s+(\S+)/m.exec(text) ?? []
  const needed = config.SMTP_MAX_CLIENTS + config.DATABASE_POOL + FILES_BESIDE
  const most = Number(hard)
  if (!(most < needed)) return []
  return [
    warning(
      `A process may open ${most} files, and ${needed} may be needed (SMTP_MAX_CLIENTS is ${config.SMTP_MAX_CLIENTS}): then connections are refused`,
      `Raise the limit (ulimit -Hn ${needed}, LimitNOFILE= of systemd, --ulimit nofile= of Docker), or lower SMTP_MAX_CLIENTS.`,
      { most, needed },
    ),
  ]
}

async function memoryFindings(cgroup: string): Promise<Finding[]> {
  const read = (name: string) => readFile(`${cgroup}/${name}`, 'utf8').catch(() => '')
  const [most, used, events, stat] = await Promise.all(
    ['memory.max', 'memory.current', 'memory.events', 'memory.stat'].map(read),
  )
  const kills = Number(/^oom_kill (\d+)/m.exec(events!)?.[1] ?? 0)
  const findings: Finding[] = []
  if (kills > 0) {
    const message = `The system has ended ${kills} processes here because memory ran out: requests in flight were cut`
    findings.push(
      warning(message, 'Give the service more memory, or lower MAX_BODY_BYTES_IN_FLIGHT and SMTP_MAX_BYTES.', {
        kills,
      }),
    )
  }
  const limit_bytes = Number(most!.trim() || Number.NaN)
  if (!Number.isFinite(limit_bytes)) return findings
  const limit_mib = Math.floor(limit_bytes / MIB)
  const needed_mib = Math.ceil(
    SERVICE_MIB +
      (config.DATABASE_URL ? 0 : EMBEDDED_MIB) +
      (MAIL_FACTOR * config.SMTP_MAX_BYTES + config.MAX_BODY_BYTES_IN_FLIGHT) / MIB,
  )
  if (limit_mib < needed_mib) {
    findings.push(
      warning(
        `The memory limit is ${limit_mib} MiB, and the settings may need ${needed_mib} MiB: the system would end the service in the middle of its work`,
        'Raise the limit of the container, or lower SMTP_MAX_BYTES or MAX_BODY_BYTES_IN_FLIGHT.',
        { limit_mib, needed_mib },
      ),
    )
  }
  // Pages kept of files are given back when memory is wanted.
  const cached_bytes = Number(/^inactive_file (\d+)/m.exec(stat!)?.[1] ?? 0)
  const used_mib = Math.floor((Number(used!.trim()) - cached_bytes) / MIB)
  if (used_mib > limit_mib * MOST_USED) {
    const message = `${used_mib} of ${limit_mib} MiB of memory are in use: at the limit the system ends the service`
    findings.push(failure(message, 'Raise the limit of the container.', { used_mib, limit_mib }))
  }
  return findings
}
