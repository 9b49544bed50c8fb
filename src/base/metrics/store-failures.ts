/** Counts failures of the store that keeps attachments and originals. */
import { Counter } from 'prom-client'

const failures = new Counter({
  name: 'deskwire_store_failures_total',
  help: 'Calls of the store of attachments and originals that failed because S3 or the disk did, by store and operation',
  labelNames: ['store', 'operation'],
})

/** Counts a call that failed. */
export function countStoreFailure(store: 's3' | 'file', operation: string): void {
  failures.inc({ store, operation })
}
