/**
 * The files of tests that are slow by nature, and why: `bun run test` leaves them out. `--all` runs them, and so does
 * the name of a file or folder. How a request, a mail or a delivery is answered is proven in the other files as well.
 */
export const SLOW: Record<string, string[]> = {
  'whole processes that are killed, starved, or started in many ways': [
    'base/db/database-faults',
    'base/db/embedded',
    'base/db/embedded-access',
    'base/db/pooler',
    'delivery/outbox/outbox-cli',
    'delivery/outbox/outbox-faults',
    'delivery/webhooks/webhook-faults',
    'desk/deeds/deeds-killed',
    'operate/backup/hostile-backup',
    'operate/backup/two-restores',
    'operate/doctor/doctor-command',
    'operate/profile/profile',
    'operate/progress',
    'operate/start/any-uid',
    'operate/start/certificate',
    'operate/start/drain',
    'operate/start/launch',
    'operate/start/log-output',
    'operate/start/preflight',
    'operate/start/rotate-secrets',
    'operate/start/service-faults',
    'operate/start/settings',
    'operate/start/untrusted-proxy',
    'people/api-keys/key-cli',
    'people/auth/shared-guesses',
  ],
  'other programs: browsers, compilers, promtool, the runner itself': [
    'base/metrics/alerts',
    'client/typed-client',
    'console/pages/pages',
    'failed-again',
    'http/documentation-page',
    'http/openapi-client',
    'operate/start/haproxy-guide',
  ],
  'generated input, of which the files of each section have a sample': [
    'base/html/html-xss',
    'contract/bad-input',
    'contract/property',
    'desk/merging/merge-property',
    'http/one-node-writes',
    'desk/schedules/business-time-property',
    'desk/reports/reports-many',
  ],
  'databases of older releases, and data of the size that a bench needs': [
    'base/address/address-key',
    'base/db/released-databases',
    'bench/bench-data',
    'operate/backup/older-release',
  ],
}

/**
 * The folders whose files share the modules of their worker, because what they are about is in the database: the
 * product is loaded and warm for all of them, which takes a third less of the processor.
 */
export const SHARING = [
  ...['base/', 'client/', 'console/', 'contract/', 'delivery/', 'desk/', 'http/', 'mail/', 'people/'],
  ...['operate/convert/', 'operate/doctor/', 'operate/import/', 'operate/why/'],
]

/** Those of them that need modules of their own: settings that are read once, or counts of the whole process. */
export const OWN_MODULES: string[] = [
  'base/address/address-key',
  'base/db/clock',
  'base/db/database-faults',
  'base/db/distribute',
  'base/db/embedded',
  'base/db/embedded-access',
  'base/db/policed',
  'base/db/pooler',
  'base/db/released-databases',
  'base/metrics/alerts',
  'base/metrics/metrics',
  'base/metrics/top',
  'base/process/collect',
  'base/tracing/tracing',
  'delivery/webhooks/webhook-outage',
  'desk/attachments/store-faults',
  'http/arriving-body',
  'http/base-path',
  'http/host',
  'http/one-node-writes',
  'http/rate-limit',
  'mail/inlets/inlets',
  'operate/doctor/doctor-command',
  'operate/doctor/doctor-outside',
  'operate/import/import',
  'people/api-keys/key-audit',
]
