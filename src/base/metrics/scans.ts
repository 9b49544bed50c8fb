/** Counts what a scanner says of files. */
import { Counter } from 'prom-client'

const scans = new Counter({
  name: 'deskwire_attachment_scans_total',
  help: 'Files that clamd was asked about, by result: clean, infected, skipped, or failed without a verdict',
  labelNames: ['result'],
})

/** Counts a scan. */
export function countScan(result: 'clean' | 'infected' | 'skipped' | 'failed'): void {
  scans.inc({ result })
}
