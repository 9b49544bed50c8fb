/** The command doctor: examines the service, and prints what it finds for people or for machines. */
import { ignoreProxies } from '../../base/config'
import { OperatorError } from '../../base/errors'
import { dropRoot } from '../start/drop-root'
import { examine, type Report } from './examine'
import { counted } from './finding'
import { openForDoctor } from './open'
import { checkCertificate } from './tls-files'

/**
 * Runs the doctor.
 * @param format `json` is one line, `text` is for people
 * @returns what is to be printed, and the exit status: 1 with an error, 0 with warnings alone
 */
export async function runDoctor(format: 'json' | 'text'): Promise<{ output: string; exit_code: 0 | 1 }> {
  ignoreProxies()
  const started_ms = performance.now()
  // The service reads these files before it ends the rights of root.
  const certificate = { name: 'certificate', findings: await checkCertificate() }
  await becomeUser()
  const report = await examine(openForDoctor(), [certificate])
  const took_ms = Math.round(performance.now() - started_ms)
  const output = format === 'json' ? JSON.stringify({ ...report, took_ms }) : asText(report, took_ms)
  return { output, exit_code: report.status === 'error' ? 1 : 0 }
}

async function becomeUser(): Promise<void> {
  await dropRoot('refuse').catch((error) => {
    // A part that cannot be prepared shows in the checks.
    if (!(error instanceof OperatorError)) throw error
  })
}

function asText(report: Report, took_ms: number): string {
  const { findings, passed, skipped } = report
  const count = (level: string) => findings.filter((finding) => finding.level === level).length
  const lines = [
    `${counted(count('error'), 'error')}, ${counted(count('warning'), 'warning')}, ${counted(passed.length, 'check')} passed, ${skipped.length} skipped (${(took_ms / 1000).toFixed(1)} s)`,
  ]
  for (const { level, check, message, action } of findings) {
    lines.push('', `${level.toUpperCase()} ${check}`, `  ${message}.`, `  -> ${action}`)
  }
  lines.push('')
  if (passed.length > 0) lines.push(`passed: ${passed.join(', ')}`)
  if (skipped.length > 0) lines.push(`skipped, because they need the database: ${skipped.join(', ')}`)
  return [...lines, ...figureLines(report)].join('\n')
}

function figureLines({ postgresql, counts, outbox, top, data_dir }: Report): string[] {
  if (!postgresql || !counts || !outbox || !data_dir) return []
  const { version, size, connections, max_connections, processes } = postgresql
  const waiting = outbox.filter(({ due, scheduled, parked }) => due + scheduled + parked > 0)
  return [
    `database: PostgreSQL ${version}, ${size}, ${connections} of ${max_connections} connections, processes of the service: ${processes}`,
    `disk: ${data_dir.free_mib} MiB free under ${data_dir.path}`,
    `organizations: ${counts.organizations}, mail that is not filed yet: ${counts.pending_mail}`,
    ...waiting.map(
      ({ kind, due, scheduled, parked }) => `outbox, ${kind}: ${due} due, ${scheduled} for later, ${parked} held`,
    ),
    ...(top?.waiting_organizations ?? []).map(
      ({ organization_id, due, oldest_due_s }) =>
        `due for organization ${organization_id}: ${due}, the oldest for ${oldest_due_s} s`,
    ),
  ]
}
